"""The files of deploy/ are what the operators' page shows: copying either gives the deployment that is tested."""

from __future__ import annotations

import runpy
import subprocess
import tomllib

from hushpoll_server.config import NAMES, Config

from tests.docs.blocks import ROOT, read_blocks

DEPLOY = ROOT / "deploy"
OPERATORS = ROOT / "docs" / "operators.md"
MOST_COMMANDS = 15


def test_the_operators_page_shows_the_deployed_files() -> None:
    shown = {block.title: block.text for block in read_blocks(OPERATORS) if block.title}
    units = ["hushpoll-backup.service", "hushpoll-backup.timer", "hushpoll.service"]
    assert sorted(shown) == [*units, "hushpoll.toml", "install.sh", "nginx.conf", "postgresql.sh"]
    assert {name: (DEPLOY / name).read_text("utf-8") for name in shown} == shown
    page = OPERATORS.read_text("utf-8")
    assert [path.name for path in DEPLOY.iterdir() if f"`{path.name}`" not in page] == []
    tool = runpy.run_path(str(ROOT / "docs" / "tools" / "deployment.py"))
    assert tool["page_with_files"](page.replace("certbot certonly", "certbot")) == page


def test_the_commands_are_few_and_name_files_that_exist() -> None:
    lines = (DEPLOY / "install.sh").read_text("utf-8").splitlines()
    assert len(lines) <= MOST_COMMANDS
    subprocess.run(["sh", "-n", DEPLOY / "install.sh"], check=True)
    named = [word for line in lines for word in line.split() if word.startswith("deploy/")]
    assert {path for pattern in named for path in ROOT.glob(pattern)} == {
        DEPLOY / name
        for name in (
            "hushpoll.toml",
            "nginx.conf",
            "hushpoll.service",
            "hushpoll-backup.service",
            "hushpoll-backup.timer",
        )
    }
    assert all(list(ROOT.glob(pattern)) for pattern in named)


def test_the_settings_file_can_be_used_with_and_without_its_comments() -> None:
    text = (DEPLOY / "hushpoll.toml").read_text("utf-8")
    plain = Config.from_environment({"HUSHPOLL_CONFIG": str(DEPLOY / "hushpoll.toml")})
    assert (plain.public_url, plain.proxy_hops) == ("https://survey.example.org", 1)
    full = tomllib.loads(
        "\n".join(line.removeprefix("# ") for line in text.splitlines() if "=" in line.split("`")[0])
    )
    assert set(tomllib.loads(text)) < set(full) <= set(NAMES)
