"""The nginx of the operators' manual, with TLS, in front of two nodes of which one is killed under load."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hushpoll_client import Report

from tests.serving import LONGEST, LiveServer, Postgres, reserve

from .crowd import Crowd
from .places import live_server, signed_survey

NAME = "survey.example.org"
DOCUMENTED = Path(__file__).parents[2] / "deploy" / "nginx.conf"
BEHIND_A_PROXY = {"PROXY_HOPS": "1", "PUBLIC_URL": f"https://{NAME}", "SEAL_EVERY": "1"}


def nginx() -> str | None:
    """Find the program; Debian keeps it where only root looks."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")


def certificate(folder: Path) -> ssl.SSLContext:
    """Make a certificate that vouches for itself; return the context that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return ssl.create_default_context(cafile=folder / "certificate.pem")


def configuration(
    folder: Path,
    nodes: tuple[int, ...],
    secure: int,
    plain: int,
    *,
    http2: bool = False,
    prefix: str = "",
) -> str:
    """Return the documented configuration with this machine's ports and paths; with HTTP/2, or below a path, if asked.

    The path stands in the patterns of the locations, as the page says.
    """
    lines = DOCUMENTED.read_text("utf-8")
    live = f"/etc/letsencrypt/live/{NAME}"
    for old, new in {
        "server 127.0.0.1:8000 max_fails=0;": "".join(
            f"server 127.0.0.1:{port} max_fails=0;" for port in nodes
        ),
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl{' http2' if http2 else ''};",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        f"{live}/fullchain.pem": str(folder / "certificate.pem"),
        f"{live}/privkey.pem": str(folder / "key.pem"),
        "/var/log/nginx/hushpoll.log": str(folder / "hushpoll.log"),
    }.items():
        assert lines.count(old) == 1, f"{DOCUMENTED.name} does not say {old!r} once"
        lines = lines.replace(old, new)
    if prefix:
        assert lines.count("location ~ ^/") == 3
        lines = lines.replace("location ~ ^/", f"location ~ ^{prefix}/")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if os.getuid() == 0 else ""
    start = f"{user} daemon off; pid {folder}/pid; error_log {folder}/start.log; events {{}} "
    return f"{start}http {{ {folders} {lines} }}"


@contextmanager
def proxy(
    folder: Path, nodes: tuple[int, ...], http2: bool = False, prefix: str = ""
) -> Iterator[tuple[int, int, ssl.SSLContext]]:
    """Run nginx in front of these nodes; yield its secure and its plain port, and the context that trusts it."""
    program = nginx()
    assert program, "nginx is missing; install it (Debian: apt-get install nginx-light)"
    folder.mkdir()
    trust, held = certificate(folder), (reserve(), reserve())
    secure, plain = (holder.getsockname()[1] for holder in held)
    (folder / "nginx.conf").write_text(
        configuration(folder, nodes, secure, plain, http2=http2, prefix=prefix)
    )
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + LONGEST
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", secure), 1):
                break
            assert process.poll() is None, process.communicate()[0].decode()
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.05)
        yield secure, plain, trust
    finally:
        process.terminate()
        process.communicate(timeout=LONGEST)
        for holder in held:
            holder.close()


class SecureCrowd(Crowd):
    """Clients that send over TLS to a name, as browsers do."""

    again = (502, 503, 504)  # nginx says so of a node that has just died; the page tries again then too
    trust: ssl.SSLContext
    prefix = ""

    def post(self, report: Report, port: int, number: int) -> int:
        """Send a report of a client once, through the proxy."""
        path = f"{self.prefix}/api/surveys/{self.survey.hash}/reports"
        headers = {"Content-Type": "application/json"}
        return request(port, self.trust, "POST", path, report.to_bytes(), headers)[0]


def request(
    port: int,
    trust: ssl.SSLContext | None,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Ask the proxy under its name."""
    connection = http.client.HTTPConnection(NAME, timeout=LONGEST)
    connection.sock = socket.create_connection(("127.0.0.1", port), LONGEST)
    if trust is not None:
        connection.sock = trust.wrap_socket(connection.sock, server_hostname=NAME)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def through_a_proxy(first: LiveServer, seconds: float) -> int:
    """Send through nginx to two nodes, kill each in turn, and count: no report lost, doubled or refused."""
    home = first.folder / "second"
    home.mkdir()
    key = {"SECRET_KEY_FILE": str(first.config.key_path)}
    second = LiveServer(home, first.config.database_url, **key, **BEHIND_A_PROXY)
    second.start()
    survey = signed_survey("Behind a proxy")
    first.store.publish(survey, minimum_batch=50)
    folder = first.folder / "nginx"
    try:
        with proxy(folder, (first.port, second.port)) as (secure, plain, trust):
            _look(survey.hash, secure, plain, trust)
            SecureCrowd.trust = trust
            crowd = SecureCrowd(first, survey, clients=6, ports=(secure,), allowed=lambda error: False)
            for node in (second, first):
                crowd.wait_for_more(6)
                time.sleep(seconds)
                node.kill()
                time.sleep(seconds)
                node.start()
            crowd.wait_for_more(10)
            time.sleep(seconds)
            crowd.stop()
            refused = set(crowd.statuses) - {200, 201}
            assert not refused, f"somebody was answered {sorted(refused)}"
        log = (folder / "hushpoll.log").read_text()
        assert "client:" not in log, "nginx wrote down who asked"
        return crowd.check()
    finally:
        second.close()


def _look(survey_hash: str, secure: int, plain: int, trust: ssl.SSLContext) -> None:
    """The page comes over TLS and knows it; plain http leads there."""
    status, headers, body = request(secure, trust, "GET", f"/s/{survey_hash}")
    assert status == 200
    assert "strict-transport-security" in {name.lower() for name in headers}
    assert b"<main" in body
    status, headers, _ = request(plain, None, "GET", f"/s/{survey_hash}")
    assert (status, headers["Location"]) == (301, f"https://{NAME}/s/{survey_hash}")


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Run two nodes on PostgreSQL behind nginx and kill each in turn."""
    with live_server("postgresql", cluster, **BEHIND_A_PROXY) as server:
        tell("two nodes behind nginx")
        reports = through_a_proxy(server, max(1.0, 10 * size))
    return f"two nodes behind nginx, each killed in turn: {reports:,} reports, none lost, doubled or refused"
