"""`hushpoll serve`: prepare what the server needs, say where it is, then become gunicorn."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing

import click
from hushpoll_client import HushpollError
from hushpoll_client.delivery.link import survey_link

from hushpoll_server.config import Config
from hushpoll_server.serve.asset_pins import check_pins
from hushpoll_server.serve.demo import ACCOUNT, first_start
from hushpoll_server.store.clock import refuse_wrong_clock
from hushpoll_server.store.surveys import open_store


@click.command()
@click.option(
    "--new-key",
    is_flag=True,
    help="The secret key was lost: let the database belong to the present one. A report that is sent again after this"
    " counts twice, and reports that wait to be sealed are lost.",
)
def serve(new_key: bool) -> None:
    """Run the web server; the first start makes the data folder, a demo survey and an account.

    Settings come from /etc/hushpoll/hushpoll.toml, or the file that HUSHPOLL_CONFIG names; environment variables
    override them: DATA (folder), DATABASE_URL (postgresql://..., else SQLite in DATA), HOST, PORT, PUBLIC_URL,
    PROXY_HOPS and others. `hushpoll config` shows all of them.

    \b
    Examples:
      hushpoll serve
      HOST=0.0.0.0 PORT=8080 hushpoll serve
      DATABASE_URL=postgresql://hushpoll@127.0.0.1/hushpoll hushpoll serve
    """
    os.umask(0o077)
    check_pins()
    config = Config.from_environment()
    listener = _listen(config)
    try:
        config = Config.from_environment({**os.environ, "PORT": str(listener.getsockname()[1])})
        for line in _prepare(config, new_key):
            click.echo(line)
    except BaseException:
        listener.close()
        raise
    sys.stdout.flush()
    os.set_inheritable(listener.fileno(), True)
    os.environ.update(PORT=str(config.port), HUSHPOLL_SOCKET=f"fd://{listener.detach()}")
    _become_gunicorn()


def _prepare(config: Config, new_key: bool) -> list[str]:
    """Make what a first start makes, warn of what is wrong, and return the lines to print."""
    with closing(open_store(config, new_key=new_key)) as store:
        with store.read() as tx:
            refuse_wrong_clock(tx)
        for warning in [*config.open_to_others(), *config.seals_too_few()]:
            click.echo(f"Warning: {warning}", err=True)
        demo, password = first_start(store)
        surveys = store.list_surveys()
    survey_hash = demo
    if not any(state.hash == demo for state in surveys):
        survey_hash = surveys[0].hash
    return _addresses(config, survey_hash, password)


def _become_gunicorn() -> None:
    """Run gunicorn: in this process, unless its workers would carry along what a migration has loaded."""
    from hushpoll_server.gunicorn_adapter import run_gunicorn

    arguments = ["-c", "python:hushpoll_server.serve.gunicorn_conf"]
    if "alembic" in sys.modules:
        os.execv(sys.executable, [sys.executable, "-m", "gunicorn", *arguments])  # noqa: S606
    run_gunicorn(arguments)


def _listen(config: Config) -> socket.socket:
    """Take the port before anything else, to say in one line when it is taken."""
    if ":" in config.host:
        family = socket.AF_INET6
    else:
        family = socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((config.host, config.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise HushpollError(
            f"cannot listen on {config.host}, port {config.port} ({error.strerror})",
            "choose another with PORT= or HOST=",
        ) from None
    return listener


def _addresses(config: Config, survey_hash: str, password: str | None) -> list[str]:
    address = config.address
    lines = [
        f"Respondents: {survey_link(address, survey_hash)}",
        f"Designers:   {address}/design/",
        f"Report:      {address}/surveys/{survey_hash}/report",
    ]
    if config.host in ("0.0.0.0", "::") and not config.public_url:  # noqa: S104
        phones = f"http://{_own_address()}:{config.port}"
        lines.insert(1, f"on phones:   {survey_link(phones, survey_hash)}")
    if password is not None:
        lines.append(f"Account:     {ACCOUNT}, password {password} (shown only now)")
    return lines


def _own_address() -> str:
    """Find the address that others on the network see; connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
