"""`hushpoll backup` and `hushpoll restore`: one file for either kind of database, verified by reading it back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from hushpoll_client.cli.output import json_option, print_json
from tqdm import tqdm

from hushpoll_server.config import Config
from hushpoll_server.people.audit_log import COMMAND_LINE, record
from hushpoll_server.store.backup import write_backup
from hushpoll_server.store.backup_format import Progress
from hushpoll_server.store.restore import give_to_owner, restore_backup
from hushpoll_server.store.surveys import open_store

from .stored import opened_store


@contextmanager
def _progress() -> Iterator[Progress]:
    with tqdm(unit=" rows", unit_scale=True, disable=None, leave=False) as bar:

        def report_progress(name: str, rows: int) -> None:
            bar.set_description(name)
            bar.n = rows
            bar.refresh()

        yield report_progress


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def backup(file: Path, as_json: bool) -> None:
    """Write everything the server stores into the new FILE (mode 0600), as of this moment, and read it back.

    The server can stay running. To resume an interrupted backup, run the same command again. The secret key is not in
    the file, and waiting reports stay encrypted. Keep the key in another place.

    \b
    Example:
      hushpoll backup /var/backups/hushpoll-2026-03-01
    """
    if not file.name:
        raise click.UsageError("FILE: names no file")
    with opened_store() as store:
        record(store, COMMAND_LINE, "backed up", click.format_filename(file.name), "")
        with _progress() as progress:
            copied = write_backup(store.database, file, progress)
        key_path = click.format_filename(store.config.key_path)
    if as_json:
        name = click.format_filename(file)
        print_json({"file": name, "rows": copied.rows, "tables": copied.tables, "key": key_path})
        return
    click.echo(
        f"{click.format_filename(file)}: {copied.rows:,} rows of {copied.tables} tables, read back and found the same."
    )
    click.echo(f"The key is not in it: keep a copy of {key_path} somewhere else.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def restore(file: Path, as_json: bool) -> None:
    """Put the backup FILE into an empty database (DATA or DATABASE_URL, of either kind) and read it back.

    Put the database's secret key in its place first. To resume an interrupted restore, run the same command again. If
    root runs it, the database and the key in DATA are given to the owner of that folder.

    \b
    Example:
      DATA=/var/lib/hushpoll hushpoll restore /var/backups/hushpoll-2026-03-01
    """
    config = Config.from_environment()
    with _progress() as progress:
        copied = restore_backup(config, file, progress)
    store = open_store(config)
    record(store, COMMAND_LINE, "restored", click.format_filename(file.name), "")
    store.close()
    handed_over = give_to_owner(config)
    name = click.format_filename(file)
    if as_json:
        print_json({"file": name, "rows": copied.rows, "tables": copied.tables})
        return
    click.echo(
        f"{name}: {copied.rows:,} rows of {copied.tables} tables restored, read back and found the same."
    )
    if handed_over:
        names = ", ".join(path.name for path in handed_over)
        click.echo(
            f"{names}: given to {_owner_of(config.data)}, who owns {click.format_filename(config.data)}."
        )


def _owner_of(folder: Path) -> str:
    try:
        return folder.owner()
    except KeyError:
        return f"user {folder.stat().st_uid}"
