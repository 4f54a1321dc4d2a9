"""The systemd units of deploy/: valid, locked down, and doing what they say."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from configparser import RawConfigParser
from datetime import date
from pathlib import Path

import pytest
from hushpoll_server.config import Config

from tests.serving import LONGEST, make_ready

DEPLOY = Path(__file__).parents[3] / "deploy"
UNITS = ("hushpoll.service", "hushpoll-backup.service", "hushpoll-backup.timer")
SERVICES = UNITS[:2]
HUSHPOLL = Path(sys.executable).parent / "hushpoll"
MOST_EXPOSURE = 3.0
Analyze = Callable[..., str]


@pytest.fixture
def analyze() -> Analyze:
    """Run systemd-analyze."""
    program = shutil.which("systemd-analyze")
    assert program, "systemd-analyze is missing; install it (Debian: apt-get install systemd)"

    def analyze(*arguments: str | Path) -> str:
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, timeout=LONGEST
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return analyze


def section(unit: str, name: str = "Service") -> dict[str, str]:
    """Return the keys of a section; the last value of a key that occurs twice."""
    parser = RawConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / unit, "utf-8")
    return dict(parser[name])


def test_the_units_are_valid(analyze: Analyze, tmp_path: Path) -> None:
    for unit in UNITS:
        text = (DEPLOY / unit).read_text("utf-8").replace("/opt/hushpoll/bin/hushpoll", str(HUSHPOLL))
        (tmp_path / unit).write_text(text, "utf-8")
    output = analyze("verify", "--man=no", *(tmp_path / unit for unit in UNITS))
    assert str(tmp_path) not in output, output
    assert not [line for line in output.splitlines() if line.startswith("hushpoll")], output


@pytest.mark.parametrize("unit", SERVICES)
def test_a_service_is_locked_down(analyze: Analyze, unit: str) -> None:
    output = analyze(
        "security", "--no-pager", "--offline=true", f"--threshold={MOST_EXPOSURE * 10:.0f}", DEPLOY / unit
    )
    level = re.search(rf"Overall exposure level for {unit}: ([0-9.]+)", output)
    assert level is not None, output
    assert float(level[1]) <= MOST_EXPOSURE
    assert section(unit)["LimitCORE"] == "0"


def test_the_service_survives_a_slow_database() -> None:
    unit, service = section("hushpoll.service", "Unit"), section("hushpoll.service")
    assert "postgresql.service" in unit["After"].split()
    assert "postgresql.service" in unit["Wants"].split()
    assert unit["StartLimitIntervalSec"] == "0"
    assert (service["Restart"], int(service["RestartSec"])) == ("on-failure", 5)
    assert service["EnvironmentFile"].startswith("-/")


def test_a_start_without_its_database_fails_so_that_systemd_tries_again(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "DATA": str(tmp_path / "data"),
        "DATABASE_URL": "postgresql://ada:hunter2@127.0.0.1:1/x",
        "PORT": "0",
    }
    done = subprocess.run(
        [HUSHPOLL, "serve"], env=environment, capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr


def test_systemd_hears_when_the_server_is_ready(tmp_path: Path) -> None:
    assert section("hushpoll.service")["Type"] == "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(LONGEST)
        environment = {
            **os.environ,
            "DATA": str(tmp_path / "data"),
            "DATABASE_URL": "",
            "PORT": "0",
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
        }
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen([HUSHPOLL, "serve"], env=environment, stdout=log, stderr=log)
        try:
            message, credentials, _, _ = notified.recvmsg(4096)
            assert b"READY=1" in message, credentials
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(LONGEST)


def test_the_backup_service_makes_one_file_a_day(tmp_path: Path) -> None:
    make_ready(Config(data=tmp_path / "data"))
    (tmp_path / "backups").mkdir()
    (tmp_path / "hushpoll.toml").write_text(f'data = "{tmp_path}/data"\n')
    environment = {
        "PATH": os.environ["PATH"],
        "HUSHPOLL_CONFIG": str(tmp_path / "hushpoll.toml"),
        "BACKUPS": str(tmp_path / "backups"),
    }
    service = section("hushpoll-backup.service")
    # As systemd reads the line: quotes join a word, %% is %.
    command = service["ExecStart"].replace("/opt/hushpoll/bin/hushpoll", str(HUSHPOLL)).replace("%%", "%")
    for _ in range(2):
        subprocess.run(["sh", "-c", command], env=environment, check=True, timeout=LONGEST)
        backup, *other_files = (tmp_path / "backups").iterdir()
        assert not other_files
        assert re.fullmatch(r"hushpoll-\d{4}-\d\d-\d\d", backup.name)
        assert abs((date.fromisoformat(backup.name.removeprefix("hushpoll-")) - date.today()).days) <= 1
        assert backup.stat().st_mode & 0o777 == 0o600
    old, foreign = (tmp_path / "backups" / name for name in ("hushpoll-2020-01-01", "notes"))
    for path in (old, foreign):
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    cleaning = service["ExecStartPost"].replace("${BACKUPS}", '"$BACKUPS"')
    subprocess.run(["sh", "-c", cleaning], env=environment, check=True, timeout=LONGEST)
    assert set((tmp_path / "backups").iterdir()) == {backup, foreign}
