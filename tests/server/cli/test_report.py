"""`hushpoll simulate`, `report` and `export`: the way from a survey document to a table, and what stops it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server.collect import closing
from hushpoll_server.config import Config
from hushpoll_server.people import audit_log
from hushpoll_server.store.surveys import Store

from tests.command import run_command, run_line
from tests.server.every_form import EVERY_FORM, send
from tests.server.reporting import TRUTH, fill
from tests.serving import DRAFT, make_ready


@pytest.fixture
def backend() -> str:
    """The commands read the store that other tests run on both databases."""
    return "sqlite"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a survey document, and the store of the application as DATA."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    (tmp_path / "survey.json").write_text(json.dumps(DRAFT))
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    return tmp_path


def test_from_a_simulation_to_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run_line(
        capsys, "simulate survey.json -n 40000 --truth truth.json --out r.parquet --json"
    )
    assert (status, err) == (0, "")
    assert json.loads(out)["n"] == 40_000
    status, out, err = run_line(capsys, "report survey.json --data r.parquet --format json")
    assert (status, err) == (0, "")
    value = json.loads(out)
    assert value["hash"] == Survey.from_draft(DRAFT).hash
    last_estimates = {question["id"]: question["estimates"][-1] for question in value["questions"]}
    for name, shares in TRUTH.items():
        # 6 standard errors: one run in a hundred million fails by chance.
        assert abs(last_estimates[name]["estimate"] - shares[-1]) < 6 * last_estimates[name]["se"]


def test_every_form_by_flag_or_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = json.dumps(TRUTH)
    assert (
        run_line(capsys, f"simulate survey.json -n 500 --truth {shlex.quote(truth)} --out r.csv --seed 1")[0]
        == 0
    )
    base = ["report", "survey.json", "--data", "r.csv", "--by", "cheated"]
    text = run_command(capsys, *base)[1]
    assert "reason by cheated" in text
    assert "Pearson χ²" in text
    forms = {"x.json": '{"hash"', "x.html": "<!doctype html>", "x.csv": "\ufeffquestion,", "x.txt": "Exam"}
    for name, beginning in forms.items():
        status, out, _ = run_command(capsys, *base, "--out", name)
        assert (status, out) == (0, "")
        assert (folder / name).read_text().startswith(beginning)
    assert json.loads(run_command(capsys, *base, "--json")[1])["by"] == "cheated"
    assert run_command(capsys, *base, "--format", "csv")[1].startswith("question,option,reported")
    assert run_command(capsys, *base, "--format", "html")[1].startswith("<!doctype html>")


def test_reports_of_the_store(
    folder: Path, client: FlaskClient, store: Store, survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(client, survey, 300)
    closing.close(store, survey.hash)
    from_store = json.loads(run_command(capsys, "report", survey.hash, "--json")[1])
    assert from_store["n"] == 300
    assert (
        json.loads(run_command(capsys, "report", survey.hash[:8], "--json", "--by", "reason")[1])["by"]
        == "reason"
    )
    (folder / "published.json").write_bytes(survey.canonical)
    assert json.loads(run_command(capsys, "report", "published.json", "--json")[1]) == from_store
    status, out, _ = run_command(capsys, "export", survey.hash[:10], "--out", "export", "--json")
    assert status == 0
    value = json.loads(out)
    assert value["n"] == 300
    assert len(value["files"]) == 14
    (line,) = [entry for entry in audit_log.audit_entries(store) if entry.action == "exported"]
    assert (line.actor, line.subject, line.values) == (audit_log.COMMAND_LINE, survey.hash, {"count": 300})
    assert len(pd.read_parquet(folder / "export" / "reports.parquet")) == 300
    again = json.loads(
        run_command(capsys, "report", "export/survey.json", "--data", "export/reports.csv", "--json")[1]
    )
    assert again == from_store


def test_parts_give_the_same_report_and_an_export_goes_on(
    folder: Path, client: FlaskClient, store: Store, survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(client, survey, 300)
    closing.close(store, survey.hash)
    from_store = json.loads(run_command(capsys, "report", survey.hash, "--json", "--by", "reason")[1])
    exported = ["export", survey.hash[:10], "--out", "large", "--parts", "120", "--json"]
    status, out, _ = run_command(capsys, *exported)
    assert (status, json.loads(out)["n"]) == (0, 300)
    parts = sorted((folder / "large" / "parts").iterdir())
    assert [len(pd.read_parquet(file)) for file in parts] == [120, 120, 60]
    before = [file.read_bytes() for file in parts]
    parts[1].unlink()
    assert run_command(capsys, *exported)[0] == 0
    assert [file.read_bytes() for file in parts][::2] == before[::2]
    assert not (folder / "large" / "reproduce.R").exists()  # it would read one file
    for data in ("large/parts/*.parquet", "large/parts"):
        result = run_line(capsys, f"report large/survey.json --data {data} --by reason --json")
        assert json.loads(result[1]) == from_store
    command = ["report", survey.hash, "--data", "large/parts/*.parquet", "--engine", "duckdb", "--json"]
    assert json.loads(run_command(capsys, *command)[1])["n"] == 300


def test_what_was_needed_is_compared_and_pictures_are_written(
    folder: Path, client: FlaskClient, store: Store, survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(client, survey, 300)
    closing.close(store, survey.hash)
    result = run_line(capsys, f"report {survey.hash} --json --needed cheated=0.01 --figures pictures")
    first, second = json.loads(result[1])["questions"][:2]
    assert first["margin"]["more"] > 0
    assert "margin" not in second
    assert {path.name for path in (folder / "pictures").iterdir()} == {
        f"{q.id}.{ending}" for q in survey.questions for ending in ("svg", "png")
    }


def test_the_number_of_waiting_reports_goes_to_stderr(
    folder: Path, client: FlaskClient, survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(client, survey, 3)
    status, out, err = run_command(capsys, "report", survey.hash, "--json")
    assert (status, json.loads(out)["n"]) == (0, 0)
    assert err.startswith("3 more waiting to be counted")
    fill(client, survey, 110)
    status, out, err = run_command(capsys, "report", survey.hash, "--json")
    assert (json.loads(out)["n"], err.startswith("50 more waiting")) == (63, True)
    assert run_command(capsys, "survey", "close", survey.hash)[0] == 0
    assert run_command(capsys, "report", survey.hash, "--json")[2] == ""


def test_no_bar_in_a_pipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["simulate", "survey.json", "-n", "100", "--truth", "truth.json", "--out", "r.parquet"]
    assert run_command(capsys, *args)[2] == ""


SIMULATE = ["simulate", "survey.json", "-n", "10", "--out", "r.parquet", "--truth"]
BAD = {
    "no such survey": (["report", "0123456789"], "is not known here"),
    "short hash": (["report", "abc"], "is not known here"),
    "not published": (["report", "survey.json"], "not published here"),
    "no data": (["report", "survey.json", "--data", "none.parquet"], "no such file"),
    "no parquet": (["report", "survey.json", "--data", "fake.parquet"], "is not a Parquet file"),
    "foreign codes": (["report", "survey.json", "--data", "codes.csv"], "holds '7' in row 2"),
    "missing column": (["report", "survey.json", "--data", "column.csv"], 'no column "tax_reported"'),
    "other survey": (["report", "survey.json", "--data", "other.csv"], "is not a question of this survey"),
    "unknown by": (["report", "survey.json", "--data", "good.csv", "--by", "x"], '"x" is neither'),
    "level": (["report", "survey.json", "--data", "good.csv", "--level", "95"], "level"),
    "two formats": (["report", "survey.json", "--json", "--format", "csv"], "exclude each other"),
    "bad out": (
        ["report", "survey.json", "--data", "good.csv", "--out", "no/such/x.json"],
        "cannot be written",
    ),
    "no truth": ([*SIMULATE, "none.json"], "No such file"),
    "truth not json": ([*SIMULATE, "{"], "--truth: not JSON"),
    "truth of one": ([*SIMULATE, '{"cheated": [0.5, 0.5]}'], 'no shares for question "reason"'),
    "truth too many": ([*SIMULATE, json.dumps({**TRUTH, "x": [1]})], 'no question "x"'),
    "truth not one": ([*SIMULATE, json.dumps({**TRUTH, "tax": [0.5, 0.6]})], "add up to 1"),
    "truth length": ([*SIMULATE, json.dumps({**TRUTH, "tax": [1.0]})], "list of 2 shares"),
    "truth words": ([*SIMULATE, json.dumps({**TRUTH, "tax": ["a", "b"]})], "not a number"),
    "truth nan": ([*SIMULATE, json.dumps({**TRUTH, "tax": [float("nan"), 1]})], "--truth"),
    "nobody": (["simulate", "survey.json", "-n", "0", "--truth", "truth.json", "--out", "r.csv"], "range"),
    "format": (
        ["simulate", "survey.json", "-n", "9", "--truth", "truth.json", "--out", "r.xls"],
        ".parquet or .csv",
    ),
    "no folder": (
        ["simulate", "survey.json", "-n", "9", "--truth", "truth.json", "--out", "no/r.csv"],
        "no folder",
    ),
    "no parts": (["report", "survey.json", "--data", "none/*.parquet"], "no file is found there"),
    "master alone": (
        ["report", "survey.json", "--data", "good.csv", "--master", "spark://x:1"],
        "--engine spark",
    ),
    "engine alone": (["report", "survey.json", "--engine", "duckdb"], "name them with --data"),
    "weights of no parts": (
        ["report", "survey.json", "--data", "x/*.parquet", "--engine", "duckdb", "--weights", "w"],
        "no file is found there",
    ),
    "weights on Spark": (
        ["report", "survey.json", "--data", "x/*.parquet", "--engine", "spark", "--weights", "w"],
        "no file is found there",
    ),
    "needed": (["report", "survey.json", "--data", "good.csv", "--needed", "much"], "write a margin such as"),
    "needed of nothing": (
        ["report", "survey.json", "--data", "good.csv", "--needed", "x=.05"],
        "no such question",
    ),
    "export file": (["export", "0123456789", "--out", "good.csv"], "is a file"),
    "export unknown": (["export", "0123456789", "--out", "d"], "is not known here"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    make_ready(Config(data=folder / "data"))
    (folder / "fake.parquet").write_text("no")
    (folder / "good.csv").write_text("cheated_reported,reason_reported,tax_reported\n0,1,0\n1,2,1\n")
    (folder / "codes.csv").write_text("cheated_reported,reason_reported,tax_reported\n0,1,0\n1,7,1\n")
    (folder / "column.csv").write_text("cheated_reported,reason_reported\n0,1\n")
    (folder / "other.csv").write_text("cheated_reported,reason_reported,tax_reported,age_reported\n0,1,0,0\n")
    arguments, message = BAD[name]
    status, out, err = run_command(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert re.fullmatch(r"[^\n]+\n", err), err
    assert message in err


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_an_export_claims_no_more_than_the_store(
    folder: Path,
    client: FlaskClient,
    store: Store,
    survey: Survey,
    capsys: pytest.CaptureFixture[str],
    closed: bool,
) -> None:
    """One person hides among the reports released together: 50 of 700 while results can be read as they come."""
    fill(client, survey, 700)
    if closed:
        closing.close(store, survey.hash)
    status, out, _ = run_command(capsys, "report", survey.hash, "--json")
    assert status == 0
    expected = json.loads(out)
    assert run_command(capsys, "export", survey.hash, "--out", "out")[0] == 0
    assert run_line(capsys, f"export {survey.hash} --out large --parts 200")[0] == 0
    for source in ("out/reports.parquet", "out/reports.csv", "large/parts", "large/parts/*.parquet"):
        status, out, _ = run_command(capsys, "report", "out/survey.json", "--data", source, "--json")
        assert status == 0
        assert json.loads(out) == expected, source
    claimed = expected["questions"][0]["epsilon_shuffled"]
    assert (claimed < 0.2) is closed
    # A closed survey's parts say so: they are written anew.
    if not closed:
        closing.close(store, survey.hash)
        assert run_line(capsys, f"export {survey.hash} --out large --parts 200")[0] == 0
        out = run_command(capsys, "report", "out/survey.json", "--data", "large/parts", "--json")[1]
        assert json.loads(out)["questions"][0]["epsilon_shuffled"] < claimed


@pytest.mark.parametrize(
    "by",
    [["--by", "group"], *(pytest.param(by, marks=pytest.mark.long) for by in (["--by", "e"], []))],
    ids=str,
)
def test_a_large_export_of_groups_blocks_and_bitmaps_is_reported_from_its_parts(
    folder: Path, client: FlaskClient, store: Store, capsys: pytest.CaptureFixture[str], by: list[str]
) -> None:
    every = Survey.from_draft(EVERY_FORM)
    store.publish(every)
    send(client, every, 700)
    closing.close(store, every.hash)
    assert run_line(capsys, f"export {every.hash} --out out --parts 200")[0] == 0
    assert len(list((folder / "out" / "parts").iterdir())) == 4
    reports = []
    for source in ([], ["--data", "out/parts/*.parquet"]):
        status, out, _ = run_command(capsys, "report", every.hash, "--json", *by, *source)
        assert status == 0
        reports.append(json.loads(out))
    assert reports[1]["n"] == 700
    assert reports[1]["questions"] == reports[0]["questions"]
    assert reports[1].get("groups") == reports[0].get("groups")
