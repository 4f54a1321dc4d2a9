"""The system calls of a server and its database, one report at a time: on the disk first, then the answer; no links.

strace watches the worker, and PostgreSQL with all its processes. Between the arrival of a report and its 201 there must
be an fsync that succeeded. No file may get the code, its hash, the id, or the report in plain sight, and no socket the
code, the id or the report. (The server asks PostgreSQL for the code by its hash, so its statement log must be off.)
"""

from __future__ import annotations

import http.client
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from hushpoll_client import Report, Survey
from hushpoll_server.collect import invitations
from sqlalchemy import text

from tests.serving import LONGEST, LiveServer, Postgres

from .crowd import fresh_report
from .places import live_server, signed_survey

_CALLS = "fsync,fdatasync,read,recvfrom,recvmsg,write,writev,pwrite64,pwritev,sendto,sendmsg"
_SYNC = re.compile(r"(?:fsync|fdatasync)(?:\(\d+[^)]*\)| resumed>.*?\))\s*= 0")
_OUT = re.compile(r"^\d+\s+(?:write|writev|pwrite64|pwritev|sendto|sendmsg)\(\d+<([^>]*)>")


class Traced(NamedTuple):
    """What a trace shows of the reports that were sent while it ran."""

    reports: int
    synced: int
    counts: dict[str, int]
    # Requests in which an observer of the running server sees code and report together.
    seen: int


@contextmanager
def watched(pids: list[int]) -> Iterator[list[str]]:
    """Record the system calls of these processes and of those that they start; the list has the lines at the end."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "trace"
        # All bytes in hexadecimal, so that a needle can be looked for whatever it is made of.
        command = [
            "strace",
            "-f",
            "-qq",
            "-y",
            "-xx",
            "-s",
            "1000000",
            "-e",
            f"trace={_CALLS}",
            "-o",
            str(out),
        ]
        for pid in pids:
            command += ["-p", str(pid)]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE)
        deadline = time.monotonic() + LONGEST
        while not all(_is_traced(pid) for pid in pids):
            assert tracer.poll() is None, (tracer.stderr.read() if tracer.stderr else b"").decode()
            assert time.monotonic() < deadline, "strace did not begin"
            time.sleep(0.1)
        try:
            yield lines
        finally:
            tracer.terminate()
            tracer.communicate(timeout=LONGEST)
        lines += out.read_text(encoding="ascii", errors="replace").splitlines()


def _is_traced(pid: int) -> bool:
    """Return whether a process is traced with all its threads, or has ended."""
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if "TracerPid:\t0\n" in status.read_text():
                return False
    return True


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _hex(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def examine(lines: list[str], needles: dict[str, list[bytes]], reports: int) -> Traced:
    """Count the answers that had an fsync before them, and the needles in what was written."""
    request, answered = _hex(b"POST /api/surveys/"), _hex(b"HTTP/1.1 201")
    synced, waiting, safe = 0, False, False
    for line in lines:
        if answered in line and waiting:
            synced += safe
            waiting = safe = False
        elif request in line:
            waiting, safe = True, False
        elif _SYNC.search(line):
            safe = True
    out = {"file": "", "socket": ""}
    for line in lines:
        if to := _OUT.match(line):
            # With -xx names of files are written in hexadecimal too.
            name = re.sub(r"\\x(..)", lambda sign: chr(int(sign[1], 16)), to[1])
            out["socket" if name.startswith(("socket:", "TCP", "UNIX")) else "file"] += line + "\n"
    everywhere = out["file"] + out["socket"]
    counts = {
        name: sum(_hex(needle) in (out["file"] if name == "hashes" else everywhere) for needle in some)
        for name, some in needles.items()
    }
    pairs = zip(needles["codes"], needles["ids"], strict=False)
    came = [line for line in lines if _hex(b'"invitation":') in line]
    seen = sum(any(_hex(code) in line and _hex(name) in line for line in came) for code, name in pairs)
    return Traced(reports, synced, counts, seen)


def trace(server: LiveServer, cluster: Postgres | None, n: int) -> Traced:
    """Send n reports with invitations, one after the other, and look at what the system was asked to do."""
    survey = signed_survey("Traced", invitation=True)
    server.store.publish(survey, minimum_batch=50)
    codes = invitations.invite(server.store, survey.hash, n)
    reports = [fresh_report(survey) for _ in codes]
    pids = list(server.workers)
    # The codes' hashes were written when they were made, to a log and to pages that are copied, marked and flushed
    # later: all of that now, and not while reports come.
    if cluster is None:
        assert server.store.database.truncate_wal()
    else:
        pids += [cluster.pid, *_children(cluster.pid)]
        with server.store.database.autocommit() as tx:
            for work in (
                "VACUUM (FREEZE, ANALYZE) invitations",
                "CHECKPOINT",
                "SELECT pg_switch_wal()",
                "CHECKPOINT",
            ):
                tx.execute(text(work))
    with watched(pids) as lines:
        for report, code in zip(reports, codes, strict=True):
            assert _post(server, survey, report, code) == 201
    return examine(lines, _needles(server, survey, reports, codes), n)


def _needles(
    server: LiveServer, survey: Survey, reports: list[Report], codes: list[str]
) -> dict[str, list[bytes]]:
    form, store = server.store.record_format(survey.hash), server.store
    return {
        "codes": [code.encode() for code in codes],
        "hashes": [invitations.digest(survey.hash, code) for code in codes],
        "ids": [report.id.encode() for report in reports] + [bytes.fromhex(report.id) for report in reports],
        "reports": [form.pack(report.reports) for report in reports],
        # What must be found, or the search is blind: the keyed hashes under which reports are kept.
        "kept": [store.id_digest(survey.hash, bytes.fromhex(report.id)) for report in reports],
    }


def _post(server: LiveServer, survey: Survey, report: Report, code: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST)
    path = f"/api/surveys/{survey.hash}/reports"
    connection.request("POST", path, report.to_bytes(code), {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


def check(traced: Traced) -> None:
    """Hold a trace against the promise."""
    assert traced.synced == traced.reports, f"{traced.reports - traced.synced} answers came before the disk"
    assert traced.counts["kept"] == traced.reports, "the search does not find what is written"
    leaked = {name: n for name, n in traced.counts.items() if name != "kept" and n}
    assert not leaked, f"found among what was written: {leaked}"


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Trace both databases; a cluster without fsync must be found out."""
    n = max(3, round(100 * size))
    durable = Postgres(fsync=True)
    try:
        for backend, used in (("sqlite", None), ("postgresql", durable)):
            with live_server(backend, used) as server:
                traced = trace(server, used, n)
                check(traced)
                tell(f"{backend} {n} reports")
    finally:
        durable.close()
    with live_server("postgresql", cluster) as server:
        caught = trace(server, cluster, n)
    assert caught.synced < n, "a database without fsync was not found out"
    return (
        f"{n} reports per database: each on the disk before its 201; no code, hash of a code, id or report in any file,"
        f" WAL included; who watches the server itself reads {traced.seen} of {n} side by side (as stated)"
    )
