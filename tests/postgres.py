"""A PostgreSQL cluster for tests, with a migrated template database."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hushpoll_server.config import Config
from hushpoll_server.store import key
from hushpoll_server.store.surveys import open_store

from tests.environment import LONGEST, MEMORY


class Postgres:
    """A PostgreSQL cluster in a temporary folder, reached through a Unix socket only."""

    def __init__(self, fsync: bool = False) -> None:
        # Without fsync for tests: they kill our server and PostgreSQL's processes, never the machine.
        self.fsync = "on" if fsync else "off"
        # Not pytest's folder: the postgres user has to get in, and a socket's path must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir=None if fsync else MEMORY))
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        options = ("-U", "postgres", "-A", "trust", "-N", "--no-instructions")
        self._run("initdb", "-D", f"{self.folder}/data", *options)
        self.start()
        # Migrated once; every test gets a copy.
        self.create("migrated")
        with tempfile.TemporaryDirectory() as folder:
            store = open_store(Config(data=Path(folder), database_url=self.url("migrated")))
            # Every test has its own key, and the copy belongs to it.
            key.forget(store.database)
            store.close()

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync={self.fsync} -c max_connections=200"
        command = ("start", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options)
        self._run("pg_ctl", *command)

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "stop", "-D", f"{self.folder}/data", "-m", mode, "-w")

    @property
    def pid(self) -> int:
        """The first of its processes."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all of its processes in the middle of whatever they do, as a hanging disk does."""
        first = self.pid
        # The first one first: then no other comes, and none that ends is gone before it is stopped.
        os.kill(first, signal.SIGSTOP)
        children = Path(f"/proc/{first}/task/{first}/children").read_text()
        stopped = [first, *map(int, children.split())]
        for pid in stopped[1:]:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def create(self, name: str, template: str = "template0") -> str:
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, name: str) -> None:
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def dsn(self, name: str) -> str:
        return f"host={self.folder} user=postgres dbname={name}"

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
        path = str(programs[-1]) if programs else shutil.which(program)
        assert path, (
            "no PostgreSQL on this machine: install it (Debian: apt-get install postgresql), or run `make test`"
        )
        become = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        done = subprocess.run(
            [*become, path, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={**os.environ, "PGCTLTIMEOUT": str(LONGEST)},
            timeout=2 * LONGEST,
        )
        assert done.returncode == 0, done.stdout.decode()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One cluster per pytest worker.

    Not one for all workers: tests read the cluster's log and files and its table of locks, stop it and freeze it.
    """
    cluster = Postgres()
    yield cluster
    cluster.close()
