"""`hushpoll config`: the settings in force, where each comes from, and whether they fit this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
from hushpoll_client.cli.output import json_option, print_json

from hushpoll_server.checks import FAILED, OK, Check, all_checks
from hushpoll_server.config import NAMES, Config
from hushpoll_server.settings import Settings, read_settings

_PASSWORD = re.compile(r"(://[^:@/]*:).*(?=@)|([?&]password=)[^&]*")


@click.command(short_help="Show the settings in force, and check them.")
@json_option
def config(as_json: bool) -> int:
    """Show every setting with its source (environment, settings file or default), and check this machine by them.

    Settings come from /etc/hushpoll/hushpoll.toml, or from the file that HUSHPOLL_CONFIG names; environment variables
    override them. Passwords are hidden. Nothing is changed, and no letter is sent. Run it as the server's user; exit
    status 1 means that a check failed.

    \b
    Examples:
      hushpoll config
      HUSHPOLL_CONFIG=./hushpoll.toml hushpoll config --json
    """
    settings = read_settings(os.environ, NAMES)
    configuration = Config.of(settings)
    checks = list(all_checks(configuration, settings.file))
    if as_json:
        print_json(_document(settings, configuration, checks))
    else:
        _print(settings, configuration, checks)
    return int(any(check.status == FAILED for check in checks))


def _document(settings: Settings, configuration: Config, checks: list[Check]) -> dict[str, object]:
    rows = {name: {"value": _value(configuration, name), "source": settings.source(name)} for name in NAMES}
    file = None
    if settings.file is not None:
        file = str(settings.file)
    return {"file": file, "settings": rows, "checks": [check._asdict() for check in checks]}


def _print(settings: Settings, configuration: Config, checks: list[Check]) -> None:
    click.echo(f"Settings file: {settings.file or 'none'}")
    for name in NAMES:
        value = _value(configuration, name)
        if isinstance(value, list):
            text = " ".join(value)
        else:
            text = str(value)
        click.echo(f"{name:20} {text or '-':30} {settings.source(name)}")
    click.echo("")
    for check in checks:
        remedy = ""
        if check.remedy and check.status != OK:
            remedy = f"; {check.remedy}"
        click.echo(f"{check.status:8} {check.name}: {check.detail}{remedy}")


def _value(configuration: Config, name: str) -> str | int | float | list[str]:
    """Return a setting's value as it is printed: passwords are stars."""
    value = getattr(configuration, name)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return ["=".join(entry) if isinstance(entry, tuple) else entry for entry in value]
    if name == "oidc_client_secret":
        return "***" if value else ""
    if isinstance(value, str):
        if name in ("database_url", "smtp_url"):
            return _PASSWORD.sub(r"\1\2***", value)
        return value
    assert isinstance(value, (int, float))
    return value
