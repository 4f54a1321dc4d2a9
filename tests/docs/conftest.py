"""A real server with a fresh data folder, for the pages that talk to one."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class RunningServer:
    """Where it listens, what it printed, and the environment in which commands reach the same store."""

    address: str
    printed: str
    environment: dict[str, str]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """`hushpoll serve` on a free port, for all pages; stopped at the end."""
    tmp_path = tmp_path_factory.mktemp("server")
    settings = {"DATA": str(tmp_path / "data"), "PORT": "0", "HOST": "127.0.0.1"}
    log = (tmp_path / "server.log").open("wb")
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("hushpoll")), "serve"],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Account:"):
                break
        printed = "".join(lines)
        assert "Report:" in printed, (tmp_path / "server.log").read_text()
        address = lines[0].split("://")[1].split("/")[0]
        port = address.rpartition(":")[2]
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=120) as answer:
            assert answer.status == 200
        yield RunningServer(address, printed, {**settings, "PORT": port})
    finally:
        process.terminate()
        process.wait(120)
        assert process.stdout is not None
        process.stdout.close()
        log.close()
