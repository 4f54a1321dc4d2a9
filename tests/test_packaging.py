"""The wheel holds everything the program needs, and a fresh environment can serve from it."""

from __future__ import annotations

import email
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

import click
import pytest
from hushpoll_client import HushpollError, Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_server import create_app
from hushpoll_server.collect import closing
from hushpoll_server.config import Config
from hushpoll_server.serve.asset_pins import check_pins
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.serving import make_ready, new_report, post_batch, running_server, waiting_records

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "client": "hushpoll_client",
    "analysis": "hushpoll_analysis",
    "server": "hushpoll_server",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a release does, without the network: the build tool is among the pinned requirements."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_is_the_same_each_time_it_is_built(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_pins_every_file_that_browsers_run(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    pinned = tmp_path / "hushpoll_server" / "assets.sha256"
    served = [
        path
        for folder in ("hushpoll_client/js", "hushpoll_server/respond/static")
        for path in (tmp_path / folder).iterdir()
        if path.suffix in (".js", ".css")
    ]
    # And the colours that all pages share.
    assert check_pins(pinned) == len(served) + 1
    served[0].write_bytes(served[0].read_bytes() + b" ")
    with pytest.raises(HushpollError, match="not the file of this release"):
        check_pins(pinned)


def tracked(folder: str) -> set[str]:
    """The files of a package that are in the repository."""
    done = subprocess.run(["git", "ls-files", "-z", folder], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:  # a source archive without git
        paths = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        return {str(path.relative_to(ROOT)) for path in paths if "__pycache__" not in path.parts}
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for room, package in PACKAGES.items():
        expected = {name.removeprefix(f"{room}/") for name in tracked(f"{room}/{package}")}
        assert expected, f"no files of {package} found"
        assert not expected - inside, "the wheel lacks files"


@pytest.mark.parametrize(
    "member",
    [
        "hushpoll_client/js/channel.js",
        "hushpoll_client/py.typed",
        "hushpoll_server/templates/layout.html",
        "hushpoll_server/static/palette.css",
        "hushpoll_server/store/migrations/versions/0017_no_counts.py",
        "hushpoll_server/collect/openapi.yaml",
        "hushpoll_server/i18n/translations/de/LC_MESSAGES/messages.po",
        *(
            f"hushpoll_server/i18n/translations/{tag}/LC_MESSAGES/messages.mo"
            for tag in ("ar", "de", "es", "fr")
        ),
    ],
)
def test_the_wheel_holds_more_than_python(wheel: Path, member: str) -> None:
    assert member in zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    for name in zipfile.ZipFile(wheel).namelist():
        top = name.split("/")[0]
        assert top in PACKAGES.values() or top.endswith(".dist-info"), (
            f"{name} does not belong into the wheel"
        )
        assert not name.endswith((".pyc", ".sqlite3", ".key")), name


def test_version_comes_from_one_place(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    fields = email.message_from_bytes(archive.read(metadata))
    assert wheel.name.split("-")[1] == fields["Version"]
    assert fields["Name"] == "hushpoll"
    assert fields["License-Expression"] == "Apache-2.0"


def version_of(folder: Path) -> str:
    """The version that a build of this folder gets."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "version"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_commit_and_every_archive_has_its_own_version(tmp_path: Path) -> None:
    """With one version for all builds, the documented upgrade would install nothing."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert version_of(tmp_path) == "0.1.0", "an archive without git's data"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], cwd=tmp_path, check=True)
    versions = []
    for message in ("first", "second"):
        subprocess.run([*git, "add", "."], cwd=tmp_path, check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", message], cwd=tmp_path, check=True)
        versions.append(Version(version_of(tmp_path)))
    assert versions[0] < versions[1]
    subprocess.run([*git, "tag", "v0.1.0"], cwd=tmp_path, check=True)
    assert version_of(tmp_path) == "0.1.0"
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "third"], cwd=tmp_path, check=True)
    assert Version("0.1.0") < Version(version_of(tmp_path)) < Version("0.2")


def test_constraints_name_every_library_and_gunicorn_is_bounded() -> None:
    constraints = runpy.run_path(str(ROOT / "docs" / "tools" / "constraints.py"))["constraints"]
    pinned = (ROOT / "requirements" / "run.txt").read_text()
    lines = [Requirement(line) for line in constraints(pinned).splitlines()]
    assert len(lines) == pinned.count("==") - sum(str(line.marker or "").count("==") for line in lines)
    assert all(str(line.specifier).startswith("==") for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    required = [
        Requirement(line) for line in (*project["dependencies"], *extras["analysis"], *extras["server"])
    ]
    names = {canonicalize_name(line.name) for line in lines}
    assert {canonicalize_name(line.name) for line in required} - {"hushpoll"} <= names
    (gunicorn,) = [line for line in required if line.name == "gunicorn"]
    # Its workers and its parser are subclassed (gunicorn_adapter.py).
    assert "27.0.9" in gunicorn.specifier
    assert "27.1" not in gunicorn.specifier


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; the libraries come from this one, through a path file."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*install, "--disable-pip-version-check", "--prefix", str(folder), "--ignore-installed", str(wheel)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    # `site-packages` of the wheel comes first, so that it is the wheel's hushpoll that is imported.
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    script = folder / "bin" / "hushpoll"
    lines = script.read_text().splitlines(keepends=True)
    script.write_text(f"#!{folder / 'bin' / 'python'}\n" + "".join(lines[1:]))
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the fresh environment, far from the source."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(folder / "bin" / words[0]), *words[1:]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_installed_command_prints_its_version(installed: Path, wheel: Path) -> None:
    done = run(installed, "hushpoll", "--version")
    assert done.stdout.strip() == f"hushpoll, version {wheel.name.split('-')[1]}", done.stderr
    where = run(installed, "python", "-c", "import hushpoll_server as s; print(s.__file__)").stdout
    assert where.startswith(str(installed)), "the fresh environment imports another copy"


def test_the_installed_server_answers(installed: Path, tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DATABASE_URL")
    }
    environment |= {"DATA": str(tmp_path / "data"), "PORT": "0", "HOST": "127.0.0.1"}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(installed / "bin" / "hushpoll"), "serve"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("Respondents: "), (tmp_path / "log").read_text()
        page = first.split()[1].partition("#")[0]
        address = page.partition("/s/")[0]
        for path in ("/healthz", page.removeprefix(address), "/static/client/channel.js", "/design/"):
            with urllib.request.urlopen(address + path, timeout=120) as answer:
                assert answer.status == 200, path
    finally:
        process.terminate()
        process.wait(120)
        assert process.stdout is not None
        process.stdout.close()


# The base install ----------------------------------------------------------------------------------------------------

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and its only dependency, click; nothing else can be imported there."""
    folder = tmp_path_factory.mktemp("base")
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    done = subprocess.run(
        [*pip, "--no-deps", "--prefix", str(folder), "--ignore-installed", str(wheel)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    site = next((folder / "lib").glob("python*/site-packages"))
    library = Path(click.__file__).parent
    shutil.copytree(library, site / library.name)
    script = folder / "bin" / "hushpoll"
    lines = script.read_text().splitlines(keepends=True)
    script.write_text(f"#!{folder / 'bin' / 'python'}\n" + "".join(lines[1:]))
    return folder


def test_the_base_install_needs_only_click(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        fields = email.message_from_bytes(archive.read(metadata))
    required = [Requirement(line) for line in fields.get_all("Requires-Dist", [])]
    assert [line.name for line in required if line.marker is None] == ["click"]
    assert {"all", "analysis", "server", "files", "plot", "parquet", "pdf", "scale", "spark"} == set(
        fields.get_all("Provides-Extra", [])
    )


def test_the_base_install_is_below_15_megabytes(base: Path) -> None:
    site = next((base / "lib").glob("python*/site-packages"))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"base install: {size / MEGABYTE:.1f} MB")
    assert size < 15 * MEGABYTE
    for library in ("flask", "numpy", "sqlalchemy"):
        done = run(base, "python", "-c", f"import {library}")
        assert "ModuleNotFoundError" in done.stderr, library


def test_a_respondent_needs_the_base_install_only(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for command in (["answer"], ["verify"], ["survey", "check"]):
        done = run(base, "hushpoll", *command, "--help")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Usage: hushpoll {' '.join(command)} ")
    with running_server(tmp_path) as server:
        survey = Survey.from_draft(json.loads(DRAFT))
        server.store.publish(survey)
        link = survey_link(server.url, survey.hash)
        published = tmp_path / "survey.json"
        published.write_bytes(survey.canonical)
        checked = json.loads(run(base, "hushpoll", "survey", "check", "--json", str(published)).stdout)
        assert checked["hash"] == survey.hash
        (tmp_path / "answers.json").write_text('{"cheated": "Yes"}', "ascii")
        answers = str(tmp_path / "answers.json")
        command = ("hushpoll", "answer", "--json", "--answers", answers, link)
        done = run(base, *command)
        assert done.returncode == 0, done.stderr
        sent = json.loads(done.stdout)
        assert sent["status"] == 201
        digest = server.store.id_digest(survey.hash, bytes.fromhex(sent["id"]))
        assert set(waiting_records(server.store, survey.hash)) == {digest}
        done = run(base, "hushpoll", "verify", link)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "all as in this release" in done.stdout
        assert "hushpoll[server]" in done.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["estimate"], "analysis"),
        (["plan", "--help"], "analysis"),
        (["serve"], "server"),
        (["survey", "publish", "survey.json"], "server"),
        (["user", "list"], "server"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(base: Path, command: list[str], extra: str) -> None:
    done = run(base, "hushpoll", *command)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"pip install 'hushpoll[{extra}]'" in done.stderr


def test_a_draft_whose_channel_is_computed_needs_the_analysis(base: Path, tmp_path: Path) -> None:
    draft = json.loads(DRAFT)
    draft["questions"] = [
        {"id": "mood", "kind": "scale", "text": "How?", "points": 5, "mechanism": {"epsilon": 1}}
    ]
    (tmp_path / "draft.json").write_text(json.dumps(draft), "ascii")
    done = run(base, "hushpoll", "survey", "check", str(tmp_path / "draft.json"))
    assert done.returncode == 2
    assert "pip install 'hushpoll[analysis]'" in done.stderr
    (tmp_path / "draft.json").write_text(DRAFT, "ascii")
    assert run(base, "hushpoll", "survey", "check", str(tmp_path / "draft.json")).returncode == 0


def test_importing_the_analysis_names_its_extra(base: Path) -> None:
    done = run(base, "python", "-c", "from hushpoll_analysis import estimate")
    assert "pip install 'hushpoll[analysis]'" in done.stderr.splitlines()[-1]


def test_the_list_of_commands_marks_what_is_not_installed(base: Path) -> None:
    text = run(base, "hushpoll", "--help").stdout
    here, _, missing = text.partition("After pip install 'hushpoll[analysis]':")
    assert re.findall(r"^  (\w+)  ", here, re.M) == ["answer", "survey", "verify"]
    assert re.search(r"^  estimate  ", missing, re.M)
    assert "After pip install 'hushpoll[server]':" in missing


def test_the_build_machine_runs_every_test_once() -> None:
    """The docs' tests are among all tests, so they are not run again to check the docs."""
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    targets = re.findall(r"^make (\S+)", script, re.M)
    assert "test" in targets
    planned = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=True)
    runs = [line for line in planned.stdout.splitlines() if "-m pytest" in line]
    assert len(runs) == 1, runs
    # What a test checks by calling a tool is not called again.
    tools = set(re.findall(r"docs/tools/\w+\.py", planned.stdout))
    assert tools == {"docs/tools/screenshots.py"}  # its test is a long one, which the build leaves out


# Without what is an extra ------------------------------------------------------------------------------------------

WITHOUT = "import sys; sys.modules['pyarrow'] = None; from hushpoll_client.cli import main; "
# All commands in one process, which loads the libraries once.
SEVERAL = """
import contextlib, io, json
results = []
for command in json.loads(sys.argv[1]):
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(command)
        except SystemExit as stop:
            status = stop.code or 0
    results.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""
DRAFT = """{"hushpoll": 1, "title": "Exam", "questions": [{"id": "cheated", "kind": "yes_no", "text": "Did you?",
"mechanism": {"name": "warner", "epsilon": 1}}]}"""


def without_arrow(folder: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Return exit status, stdout and stderr of each command in a process that cannot import pyarrow."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + SEVERAL, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "DATA": str(folder / "data")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [tuple(result) for result in json.loads(done.stdout)]


def test_pyarrow_is_an_extra() -> None:
    for line in (ROOT / "requirements" / "run.txt").read_text().splitlines():
        assert not line.startswith(("pyarrow", "duckdb", "ibis", "pyspark", "matplotlib", "pyreadstat")), line


def closed_survey(data: Path) -> Survey:
    """A closed survey with enough reports for an export, in a new database."""
    config = Config(data=data, seal_every=86_400, testing=True)
    make_ready(config)
    app = create_app(config)
    store = app.extensions["hushpoll"]
    survey = Survey.from_draft(json.loads(DRAFT))
    store.publish(survey)
    lines = b"\n".join(new_report(survey).to_bytes() for _ in range(FEWEST_REPORTS))
    assert post_batch(app.test_client(), survey, lines).status_code == 201
    closing.close(store, survey.hash)
    store.close()
    return survey


def test_csv_files_need_no_pyarrow(tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(DRAFT, encoding="utf-8")
    survey = closed_survey(tmp_path / "data")
    truth = ["--truth", '{"cheated": [0.7, 0.3]}', "--seed", "1"]
    results = without_arrow(
        tmp_path,
        ["simulate", "survey.json", "-n", "500", *truth, "--out", "reports.csv"],
        ["report", "survey.json", "--data", "reports.csv", "--format", "csv"],
        ["report", "survey.json", "--data", "reports.csv"],
        ["export", survey.hash, "--out", "out"],
    )
    for status, _, errors in results:
        assert status == 0, errors
    _, table, report, exported = (printed for _, printed, _ in results)
    lines = (tmp_path / "reports.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"cheated_reported"'
    assert len(lines) == 501
    assert table.splitlines()[1].startswith("cheated,Yes,")
    # What repeats a report names a file that is in the export.
    assert 'report(survey, "reports.csv"' in report
    assert "reports.csv" in exported
    assert "reports.parquet" not in exported
    assert "reports.csv" in (tmp_path / "out" / "reproduce.py").read_text(encoding="utf-8")


def test_a_parquet_file_without_pyarrow_names_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(DRAFT, encoding="utf-8")
    (tmp_path / "reports.parquet").write_bytes(b"PAR1")
    truth = ["--truth", '{"cheated": [0.7, 0.3]}']
    results = without_arrow(
        tmp_path,
        ["report", "survey.json", "--data", "reports.parquet"],
        ["report", "survey.json", "--data", "*.parquet"],
        ["report", "survey.json", "--data", "reports.parquet", "--weights", "w"],
        ["simulate", "survey.json", "-n", "5", *truth, "--out", "reports.parquet"],
    )
    for status, _, errors in results:
        assert status == 2, errors
        assert "pyarrow" in errors
        assert 'pip install "hushpoll[parquet]"' in errors
        assert "Traceback" not in errors


def test_the_server_starts_without_pyarrow(tmp_path: Path) -> None:
    environment = {**os.environ, "DATA": str(tmp_path), "PORT": "0", "HOST": "127.0.0.1", "WORKERS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT + "main(sys.argv[1:])", "serve"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = re.search(r"http://[^/\s]+", process.stdout.readline())
        assert address is not None
        with urllib.request.urlopen(f"{address[0]}/healthz", timeout=120) as answer:
            assert answer.status == 200
    finally:
        process.terminate()
        process.communicate(timeout=120)


@pytest.mark.long
def test_the_commands_of_the_release_page_install_a_wheel(wheel: Path, tmp_path: Path) -> None:
    """pipx and uvx, as the page writes them; libraries come from the package index of this machine."""
    page = (ROOT / "docs" / "release.md").read_text("utf-8").partition("## Without a virtual environment")[2]
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    shutil.copy(wheel, tmp_path)
    tool = [sys.executable, "docs/tools/constraints.py", str(tmp_path / "constraints.txt")]
    subprocess.run(tool, cwd=ROOT, check=True, capture_output=True)
    programs = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    variables = {
        "HOME": str(tmp_path),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
    }
    version = f"hushpoll, version {wheel.name.split('-')[1]}"
    commands = [line.replace("hushpoll-0.1.0-py3-none-any.whl", wheel.name) for line in block.splitlines()]
    assert [line.split()[0] for line in commands] == ["pipx", "uvx"]
    for command in commands:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, **programs, **variables},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == version
    run_by_pipx = subprocess.run(
        [tmp_path / "bin" / "hushpoll", "--version"], capture_output=True, text=True, check=True
    )
    assert run_by_pipx.stdout.strip() == version
