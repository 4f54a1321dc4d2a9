"""The settings file, the environment above it, what is wrong in one line, and `hushpoll config`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from hushpoll_client import HushpollError
from hushpoll_server import checks
from hushpoll_server.cli.config import _PASSWORD
from hushpoll_server.config import NAMES, Config
from hushpoll_server.settings import read_settings

from tests.environment import LONGEST
from tests.server.workspace.letterbox import Letterbox
from tests.serving import LiveServer, reserve

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a settings file and name it in HUSHPOLL_CONFIG."""

    def write(text: str) -> Path:
        file = tmp_path / "hushpoll.toml"
        file.write_text(text, "utf-8")
        file.chmod(0o600)
        monkeypatch.setenv("HUSHPOLL_CONFIG", str(file))
        return file

    return write


def config_of(file: Path, **environment: str) -> Config:
    return Config.from_environment({"HUSHPOLL_CONFIG": str(file), **environment})


def test_the_file_sets_and_the_environment_overrides(write: Callable[[str], Path]) -> None:
    file = write(
        'data = "/var/lib/hushpoll"\nport = 8100\nproxy_hops = 1\ntrusted_hosts = ["a.example", "b.example"]\n'
        'public_url = "https://survey.example.org"\nimprint = "Survey Office ä"\n'
    )
    config = config_of(file, PORT="8200")
    assert (config.data, config.port, config.proxy_hops) == (Path("/var/lib/hushpoll"), 8200, 1)
    assert config.trusted_hosts == ("a.example", "b.example")
    assert (config.prefix, config.imprint) == ("", "Survey Office ä")
    settings = read_settings({"HUSHPOLL_CONFIG": str(file), "PORT": "8200"}, NAMES)
    assert [settings.source(name) for name in ("port", "data", "threads")] == [
        "environment",
        str(file),
        "default",
    ]


def test_an_empty_variable_restores_the_default(write: Callable[[str], Path]) -> None:
    file = write('database_url = "postgresql://db/x"\nport = 8100\n')
    config = config_of(file, DATABASE_URL="", PORT="")
    assert (config.database_url, config.port) == ("", 8000)


def test_every_setting_can_be_in_the_file(write: Callable[[str], Path]) -> None:
    examples = {
        "port": "8001", "proxy_hops": "2", "workers": "2", "threads": "8", "request_seconds": "30",
        "seal_at_least": "60", "seal_every": "20", "reports_per_minute": "100", "epsilon_cap": "12",
        "metrics_port": "9464",
        "data": '"/d"', "database_url": '"postgresql://u:p@db/x"', "host": '"0.0.0.0"',
        "public_url": '"https://a.example"', "trusted_hosts": '["a.example"]', "secret_key_file": '"/k"',
        "smtp_url": '"smtp://mail.example"', "mail_from": '"a@b.org"', "imprint": '"Us"',
        "imprint_url": '"https://a.example/us"', "log_level": '"debug"',
        "oidc_issuer": '"https://login.example.edu"', "oidc_client_id": '"hushpoll"', "oidc_client_secret": '"s"',
        "oidc_name": '"Example University"', "oidc_role_claim": '"groups"', "oidc_roles": '["staff=designer"]',
    }  # fmt: skip
    assert set(examples) == set(NAMES)
    config = config_of(write("".join(f"{name} = {value}\n" for name, value in examples.items())))
    unchanged = [name for name in NAMES if getattr(config, name) == getattr(Config(), name)]
    assert unchanged == []


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        ("port = 99999", "port=99999", "from 0 to 65535"),
        ('port = "many"', "port=many", "must be a whole number"),
        ("prot = 8000", "prot", "did you mean port?"),
        ("[server]\nport = 8000", "[server]", "without them"),
        ("workers = true", "workers", "a whole number"),
        ("threads = 1.5", "threads", "a whole number"),
        ("trusted_hosts = [1]", "trusted_hosts", 'a text in "..."'),
        ('data = "data"', "data=data", "write the whole path"),
        ('database_url = "mysql://ada:hunter2@db/x"', "database_url", "postgresql://"),
        ('database_url = "postgresql://ada:hunter2:x/y"', "database_url", "write it like"),
        ('smtp_url = "smtp://ada:hunter2@mail.example"', "smtp_url", "PUBLIC_URL"),
        ('public_url = "survey.example"', "public_url=survey.example", "https://"),
        ('log_level = "loud"', "log_level=loud", "debug, info"),
        ('port = 1\nport = 2', "TOML", "Cannot overwrite a value"),
        ("port 8000", "TOML", "write one setting a line"),
    ],
)  # fmt: skip
def test_a_bad_line_names_file_key_and_remedy(
    write: Callable[[str], Path],
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    key: str,
    remedy: str,
) -> None:
    file = write(text)
    for name in ("PORT", "DATA", "DATABASE_URL"):
        monkeypatch.delenv(name)
    status, out, message = run("config")
    assert (status, out) == (2, "")
    assert message.startswith(f"hushpoll: {file}: ")
    assert key in message
    assert remedy in message
    assert message.count("\n") == 1
    assert "hunter2" not in message


def test_a_bad_variable_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADS", "0")
    assert run("config") == (2, "", "hushpoll: THREADS=0: must be a whole number from 1 to 512\n")


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(HushpollError, match=r"missing\.toml: cannot be read"):
        config_of(tmp_path / "missing.toml")
    (tmp_path / "latin").write_bytes("imprint = 'Büro'".encode("latin-1"))
    with pytest.raises(HushpollError, match="latin: is not text in UTF-8"):
        config_of(tmp_path / "latin")


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_server_and_every_command_read_the_file(
    write: Callable[[str], Path], folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(f'data = "{folder}/data"\nimprint = "From the file"\nport = 1\n')
    server = LiveServer(folder, HUSHPOLL_CONFIG=str(file))
    try:
        server.start()
        assert server.config.imprint == "From the file"
        assert server.status("/livez") == 200
        monkeypatch.delenv("DATA")
        status, _, message = run("user", "add", "ada", "--role", "designer")
        assert status == 0, message
        assert "ada" in run("user", "list")[1]
    finally:
        server.close()


# hushpoll config --------------------------------------------------------------------------------------------------


def checks_of(run: Run, status: int = 0) -> dict[str, dict[str, str]]:
    code, out, message = run("config", "--json")
    assert code == status, (out, message)
    return {check["name"]: check for check in json.loads(out)["checks"]}


def test_a_good_server_passes_its_checks(run: Run, app: object) -> None:
    results = checks_of(run)
    assert {name: check["status"] for name, check in results.items() if name != "disk"} == dict.fromkeys(
        ("file", "database", "key", "clock", "mail", "institution", "proxy hops"), "ok"
    )
    assert set(results) == {"file", "database", "key", "clock", "disk", "mail", "institution", "proxy hops"}


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_settings_are_printed_with_their_sources(
    write: Callable[[str], Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("threads = 8\n")
    monkeypatch.setenv("HOST", "127.0.0.2")
    lines = [line.split() for line in run("config")[1].splitlines()]
    assert ["threads", "8", str(file)] in lines
    assert ["host", "127.0.0.2", "environment"] in lines
    assert ["workers", "1", "default"] in lines
    document = json.loads(run("config", "--json")[1])
    assert document["settings"]["threads"] == {"value": 8, "source": str(file)}
    assert document["file"] == str(file)
    assert set(document["settings"]) == set(NAMES)


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        ("postgresql://ada:hunter2@db/x", "postgresql://ada:***@db/x"),
        ("smtp://ada:hunt@er2@mail.example:587", "smtp://ada:***@mail.example:587"),
        ("smtps://mail.example", "smtps://mail.example"),
        (
            "postgresql:///x?host=/run&password=hunter2&user=ada",
            "postgresql:///x?host=/run&password=***&user=ada",
        ),
    ],
)
def test_passwords_are_hidden(address: str, hidden: str) -> None:
    assert _PASSWORD.sub(r"\1\2***", address) == hidden


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_checks_change_nothing(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for url in ("", f"sqlite:///{tmp_path}/other.sqlite3"):
        monkeypatch.setenv("DATA", str(tmp_path / "new"))
        monkeypatch.setenv("DATABASE_URL", url)
        results = checks_of(run)
        assert {results["database"]["status"], results["key"]["status"]} == {"warning"}
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("backend", ["sqlite"])
def test_each_check_finds_its_fault(
    run: Run, config: Config, monkeypatch: pytest.MonkeyPatch, write: Callable[[str], Path], app: object
) -> None:
    config.key_path.chmod(0o644)
    assert "chmod 600" in checks_of(run, 1)["key"]["remedy"]
    config.key_path.chmod(0o600)
    right = config.key_path.read_text()
    config.key_path.write_text("ab" * 32)
    assert "not the key that the database belongs to" in checks_of(run, 1)["key"]["detail"]
    config.key_path.write_text("short")
    assert "not readable as a key" in checks_of(run, 1)["key"]["detail"]
    config.key_path.write_text(right)
    monkeypatch.setattr(checks, "FULL_DISK", 1 << 80)
    assert checks_of(run, 1)["disk"]["status"] == "failed"
    monkeypatch.setattr(checks, "FULL_DISK", 0)
    monkeypatch.setattr(checks, "LOW_DISK", 1 << 80)
    assert checks_of(run)["disk"]["status"] == "warning"
    monkeypatch.setenv("PUBLIC_URL", "https://survey.example.org")
    assert "PROXY_HOPS=1" in checks_of(run, 1)["proxy hops"]["remedy"]
    monkeypatch.setenv("PROXY_HOPS", "1")
    assert checks_of(run)["proxy hops"]["status"] == "ok"
    monkeypatch.setenv("HOST", "0.0.0.0")
    assert checks_of(run)["proxy hops"]["status"] == "warning"
    file = write('smtp_url = "smtp://ada:hunter2@127.0.0.1:1"\nmail_from = "a@b.org"\n')
    file.chmod(0o644)
    results = checks_of(run, 1)
    assert (results["mail"]["status"], results["file"]["status"]) == ("failed", "failed")
    assert f"chmod 640 {file}" == results["file"]["remedy"]


def test_a_database_that_is_away_is_a_failed_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ada:hunter2@127.0.0.1:1/none")
    results = checks_of(run, 1)
    assert (results["database"]["status"], results["clock"]["status"]) == ("failed", "warning")
    assert "hunter2" not in run("config")[1]


@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.postgres
def test_a_clock_that_differs_is_a_failed_check(
    run: Run, app: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "difference", lambda tx: -90.0)
    assert checks_of(run, 1)["clock"]["detail"] == "this machine's clock is 90 seconds from the database's"


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_mail_check_sends_no_letter(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Letterbox()
    with reserve() as held:
        port = held.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port, ready_timeout=LONGEST)
    controller.start()
    try:
        monkeypatch.setenv("SMTP_URL", f"smtp://127.0.0.1:{port}")
        monkeypatch.setenv("MAIL_FROM", "a@b.org")
        monkeypatch.setenv("PUBLIC_URL", "http://survey.example.org")
        assert checks_of(run)["mail"] == {
            "name": "mail", "status": "ok", "detail": "the mail server answers", "remedy": ""
        }  # fmt: skip
        assert box.letters == []
    finally:
        controller.stop()
