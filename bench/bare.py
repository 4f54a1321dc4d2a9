"""What submitting is compared with: a bare Flask route that parses the same JSON and answers 204, stores nothing.

Run by bench/submit.py and bench/crowd.py under the same gunicorn settings as hushpoll.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import psycopg
from flask import Flask, Response, request, send_from_directory


def create_app() -> Flask:
    """One route for a report; one that stores a batch by a plain executemany."""
    app = Flask(__name__, static_folder=None)

    @app.post("/api/surveys/<survey_hash>/reports")
    def submit(survey_hash: str) -> Response:
        json.loads(request.get_data())
        return Response(status=204)

    @app.post("/api/surveys/<survey_hash>/reports/batch")
    def batch(survey_hash: str) -> Response:
        reports = [json.loads(line) for line in request.get_data().splitlines()]
        rows = [(bytes.fromhex(report["id"]), bytes(report["reports"])) for report in reports]
        if "postgresql" in request.args:
            with psycopg.connect(os.environ["BARE_POSTGRES"]) as postgres:
                postgres.execute(
                    "CREATE TABLE IF NOT EXISTS plain (id bytea PRIMARY KEY, record bytea NOT NULL)"
                )
                postgres.cursor().executemany("INSERT INTO plain VALUES (%s, %s)", rows)
            return Response(status=204)
        with _table() as table:
            table.executemany("INSERT INTO plain VALUES (?, ?)", rows)
        return Response(status=204)

    files = Path(os.environ.get("BARE_FILES", ""))
    index = json.loads((files / "index.json").read_text()) if "BARE_FILES" in os.environ else {}

    @app.get("/<path:path>")
    def kept_file(path: str) -> Response:
        """Serve a file as bench/crowd.py has kept it."""
        name, headers = index[f"/{path}"]
        answer = send_from_directory(files, name)
        answer.headers.update(headers)
        return answer

    @app.get("/healthz")
    def health() -> Response:
        return Response(status=204)

    return app


def _table() -> sqlite3.Connection:
    table = sqlite3.connect(os.environ["BARE_DATABASE"])
    table.execute("PRAGMA journal_mode=WAL")
    table.execute("PRAGMA synchronous=FULL")
    table.execute(
        "CREATE TABLE IF NOT EXISTS plain (id BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID"
    )
    return table
