"""A 2xx means stored, once: a lost answer, a full disk, a database that goes away, SIGTERM. See also test_prove.py."""

from __future__ import annotations

import http.client
import os
import resource
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server.store.surveys import Store

from tests.prove.crowd import Crowd, send
from tests.serving import LONGEST, LiveServer, Postgres, first_line, make_survey, new_report, post

Live = Callable[..., LiveServer]


@pytest.mark.long
def test_a_lost_answer_is_answered_again(live: Live) -> None:
    """The server dies after the commit and before the answer: the client's retry gets 2xx, and there is one row."""
    server = live()
    survey = make_survey()
    server.store.publish(survey)
    report = new_report(survey)
    body = report.to_bytes()
    before = server.store.count(survey.hash)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/api/surveys/{survey.hash}/reports", body, headers)
    deadline = time.monotonic() + LONGEST
    while server.store.count(survey.hash) == before:
        assert time.monotonic() < deadline, "it was not stored"
        time.sleep(0.002)
    server.kill()
    connection.close()
    server.start()
    assert [send(server, survey, report)[0] for _ in range(3)] == [200] * 3
    assert server.store.count(survey.hash) == before + 1


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_full_disk_is_503_and_heals(live: Live) -> None:
    server = live()
    survey = make_survey()
    server.store.publish(survey)
    first = new_report(survey)
    assert send(server, survey, first)[0] == 201
    (worker,) = server.workers
    # No file may grow any more: writes fail as on a full disk.
    unlimited = resource.prlimit(worker, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    refused = [new_report(survey) for _ in range(5)]
    for report in refused:
        status, headers = send(server, survey, report)
        assert status == 503
        assert int(headers["Retry-After"]) > 0
    resource.prlimit(worker, resource.RLIMIT_FSIZE, unlimited)
    # Without a restart the same reports are accepted now.
    assert [send(server, survey, report)[0] for report in refused] == [201] * 5
    assert send(server, survey, first)[0] == 200
    assert server.workers == [worker]
    assert server.store.count(survey.hash) == 6


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_database_that_goes_away_is_503_and_heals(live: Live, postgres: Postgres) -> None:
    server = live()
    survey = make_survey()
    server.store.publish(survey)
    first = new_report(survey)
    assert send(server, survey, first)[0] == 201
    refused = [new_report(survey) for _ in range(3)]
    postgres.stop()
    try:
        for report in refused:
            status, headers = send(server, survey, report)
            assert status == 503
            assert int(headers["Retry-After"]) > 0
        server.wait_for("/healthz", 503)
    finally:
        postgres.start()
    assert [send(server, survey, report)[0] for report in refused] == [201] * 3
    assert send(server, survey, first)[0] == 200
    assert server.status("/healthz") == 200
    assert server.store.count(survey.hash) == 4


@pytest.mark.long
def test_sigterm_fails_no_request_in_flight(live: Live) -> None:
    server = live(REQUEST_SECONDS="600")  # those who are in flight may be as slow as this machine is
    survey = make_survey()
    server.store.publish(survey)
    # Requests that the server has begun to read: the head is sent, the body follows after the signal.
    connections = []
    for _ in range(8):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST)
        body = new_report(survey).to_bytes()
        connection.putrequest("POST", f"/api/surveys/{survey.hash}/reports")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        connections.append((connection, body))
    crowd = Crowd(server, survey, clients=4)
    crowd.wait_for_more(4)
    time.sleep(0.5)
    assert server.process is not None
    server.process.terminate()
    time.sleep(0.2)
    statuses = []
    for connection, body in connections:
        connection.send(body)
        statuses.append(connection.getresponse().status)
        connection.close()
    assert statuses == [201] * 8
    assert server.process.wait(LONGEST) == 0
    server.start()
    crowd.stop()
    assert set(crowd.statuses) <= {200, 201}


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_two_processes_take_turns(live: Live) -> None:
    server = live(WORKERS="2")
    survey = make_survey()
    server.store.publish(survey)
    assert len(server.workers) == 2
    crowd = Crowd(server, survey)
    crowd.wait_for_more(60)
    crowd.stop()
    assert set(crowd.statuses) == {201}
    assert server.store.count(survey.hash) == len(crowd.acknowledged)


@pytest.mark.long
def test_a_collecting_worker_is_small_and_does_not_load_the_analysis(live: Live) -> None:
    server = live()
    survey = make_survey()
    server.store.publish(survey)
    crowd = Crowd(server, survey)
    crowd.wait_for_more(61)
    crowd.stop()
    assert len(crowd.acknowledged) > 60
    (worker,) = server.workers
    with open(f"/proc/{worker}/status") as status:
        size = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
    assert size < 90, f"{size:.0f} MB"
    with open(f"/proc/{worker}/maps") as maps:
        loaded = maps.read()
    assert not [name for name in ("numpy", "scipy", "pandas", "clarabel") if name in loaded]


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_lack_of_file_descriptors_passes(client: FlaskClient, survey: Survey, store: Store) -> None:
    report = new_report(survey).to_bytes()
    assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    last = os.open(os.devnull, os.O_RDONLY)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, limit[1]))
    try:
        refused = post(client, survey, report)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        os.close(last)
    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0
    assert post(client, survey, report).status_code == 201


@pytest.mark.parametrize("backend", ["sqlite"])
def test_large_bodies_get_an_answer_not_a_reset(live: Live) -> None:
    server = live()
    survey = make_survey()
    server.store.publish(survey)
    request = urllib.request.Request(
        f"{server.url}/api/surveys/{survey.hash}/reports",
        b" " * 900_000,
        {"Content-Type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=LONGEST)
    assert refused.value.code == 413
    refused.value.close()
    # Chunks without an announced length are counted too.
    command = ["curl", "-s", "-o", "-", "-w", "%{http_code}", "-H", "Transfer-Encoding: chunked"]
    command += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
    done = subprocess.run([*command, request.full_url], input=b" " * 200_000, capture_output=True)
    assert done.stdout.endswith(b"413")
    good = subprocess.run(
        [*command, request.full_url], input=new_report(survey).to_bytes(), capture_output=True
    )
    assert good.stdout.endswith(b"201")
    # A client that cannot write chunks, or goes away, is not the server's mistake.
    head = f"POST /api/surveys/{survey.hash}/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    for chunks in (b"zz\r\nabc\r\n0\r\n\r\n", b"3\r\nabcXX0\r\n\r\n", b"ff\r\nabc"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST) as connection:
            connection.sendall(head.encode() + chunks)
            connection.shutdown(socket.SHUT_WR)
            assert first_line(connection).startswith(b"HTTP/1.1 400 ")
