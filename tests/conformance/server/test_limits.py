"""Limits, each at its edge, each with a problem for an answer."""

from __future__ import annotations

import socket
import time

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS, Acp, message
from tests.support.problems import assert_problem
from tests.support.processes import resident_bytes, wait_until

BODY_LIMIT = {"SANDBOX_AGENT_ACP_MAX_LINE_BYTES": "100000", "SANDBOX_AGENT_MAX_BODY_BYTES": "100000"}


def padded(size: int) -> bytes:
    head, tail = b'{"method":"test/none","params":"', b'"}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


@pytest.mark.clause("promise-N")
def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_413(start_server) -> None:
    acp = start_server(settings=BODY_LIMIT).acp
    server_id = acp.start()
    assert acp.post(server_id, padded(100_000)).status == 202
    problem = assert_problem(
        acp.post(server_id, padded(100_001)), 413, "payload_too_large", "Payload Too Large"
    )
    assert problem["details"]["limit"] == 100_000
    assert problem["detail"].startswith("payload too large: ")
    assert acp.call(server_id, "test/echo")


def test_a_chunked_body_over_the_limit_is_413(start_server) -> None:
    server = start_server(settings=BODY_LIMIT)
    server_id = server.acp.start()
    headers = {**JSON_HEADERS, "transfer-encoding": "chunked"}
    with server.client.connect() as connection:
        connection.send(server.client.build("POST", server.acp.path(server_id), headers=headers))
        chunk = b"x" * 1000
        for _ in range(101):
            connection.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        assert_problem(connection.read_answer(), 413, "payload_too_large")


def test_a_chunked_body_that_is_over_the_limit_with_its_first_bytes_is_413(start_server) -> None:
    server = start_server(settings=BODY_LIMIT)
    headers = {**JSON_HEADERS, "transfer-encoding": "chunked"}
    with server.client.connect() as connection:
        head = server.client.build("POST", server.acp.path("never-ending"), headers=headers)
        connection.send(head + b"%x\r\n%s\r\n" % (150_000, b"x" * 150_000))
        assert_problem(connection.read_answer(), 413, "payload_too_large")


@pytest.mark.clause("promise-N")
def test_413_reaches_a_client_that_is_still_writing(start_server) -> None:
    server = start_server(settings=BODY_LIMIT)
    server_id = server.acp.start()
    size = 30_000_000
    headers = {**JSON_HEADERS, "content-length": str(size)}
    with server.client.connect() as connection:
        connection.send(server.client.build("POST", server.acp.path(server_id), headers=headers))
        sent = 0
        try:
            while sent < size:
                sent += connection.socket.send(b"x" * 65_536)
        except (BrokenPipeError, ConnectionResetError):
            pytest.fail(f"the connection was reset after {sent} bytes, before the answer could be read")
        assert_problem(connection.read_answer(), 413, "payload_too_large")


def test_a_refused_body_starts_nothing(start_server) -> None:
    acp = start_server(settings=BODY_LIMIT).acp
    server_id = acp.new_id()
    assert acp.post(server_id, padded(200_000), agent=AGENT).status == 413
    assert acp.entry(server_id) is None
    assert acp.delete(server_id).status == 404


def test_messages_of_sixty_megabytes_are_taken_by_default(acp: Acp, server_id: str) -> None:
    assert acp.post(server_id, padded(60_000_000), timeout=30).status == 202
    assert acp.call(server_id, "test/echo", timeout=30)


@pytest.mark.clause("http-limits")
def test_a_body_above_64_mib_is_413_by_default(acp: Acp, server_id: str) -> None:
    headers = {**JSON_HEADERS, "content-length": str((64 << 20) + 1), "expect": "100-continue"}
    with acp.client.connect() as connection:
        connection.send(acp.client.build("POST", acp.path(server_id), headers=headers))
        assert_problem(connection.read_answer(), 413, "payload_too_large")


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
@pytest.mark.clause("promise-N", "http-limits")
@pytest.mark.parametrize("size", [70_000, 300_000])
def test_headers_over_64_kib_are_431(acp: Acp, size: int) -> None:
    with acp.client.connect() as connection:
        request = acp.client.build("GET", "/v1/health", headers={"x-pad": "x" * size})
        try:
            connection.send(request)
        except (BrokenPipeError, ConnectionResetError):
            pytest.fail("the connection was reset before the answer could be read")
        assert_problem(connection.read_answer(), 431, "headers_too_large")


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
def test_many_small_headers_are_431_too(acp: Acp) -> None:
    with acp.client.connect() as connection:
        connection.send(
            acp.client.build("GET", "/v1/health", headers={f"x-{n}": "v" * 20 for n in range(4000)})
        )
        assert_problem(connection.read_answer(), 431, "headers_too_large")


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
def test_a_request_line_that_never_ends_is_refused(acp: Acp) -> None:
    with acp.client.connect() as connection:
        connection.send(b"GET /" + b"x" * 200_000)
        answer = connection.read_answer()
        assert_problem(answer, answer.status, {414: "uri_too_long", 431: "headers_too_large"}[answer.status])


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
@pytest.mark.clause("security-M5")
def test_more_than_200_headers_are_431(acp: Acp) -> None:
    own = len(acp.client.build("GET", "/").splitlines()) - 2
    for count, status in ((200, 200), (201, 431)):
        headers = {f"x-{number}": "" for number in range(count - own)}
        assert acp.client.get("/v1/health", headers=headers).status == status


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
@pytest.mark.clause("security-M6")
def test_trailers_over_64_kib_are_431(acp: Acp, server_id: str) -> None:
    headers = {**JSON_HEADERS, "transfer-encoding": "chunked"}
    with acp.client.connect() as connection:
        connection.send(acp.client.build("POST", acp.path(server_id), headers=headers) + b"2\r\n{}\r\n0\r\n")
        connection.send(b"x-trailer: a\r\n" * 20_000)
        assert_problem(connection.read_answer(), 431, "headers_too_large")


def test_headers_of_60_kib_are_fine(acp: Acp) -> None:
    assert acp.client.get("/v1/health", headers={"x-pad": "x" * 60_000}).status == 200


@pytest.mark.clause("promise-N", "http-limits", "security-L5")
def test_one_stream_too_many_is_429(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_MAX_STREAMS": "3"})
    acp = server.acp
    one, two = acp.start(), acp.start()
    streams = [acp.stream(one), acp.stream(one), acp.stream(two)]
    try:
        refused = acp.client.get(acp.path(two))
        assert_problem(refused, 429, "too_many_streams")
        assert int(refused.header("retry-after") or 0) > 0
        streams.pop().close()
        wait_until(lambda: acp.entry(two)["subscribers"] == 0, 5, "the reader to be forgotten")
        streams.append(acp.stream(two))
    finally:
        for stream in streams:
            stream.close()


@pytest.mark.clause("promise-N", "http-limits", "security-L5")
def test_one_instance_too_many_is_503_and_leaves_nothing(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_MAX_INSTANCES": "2"}).acp
    first, _ = acp.start(), acp.start()
    third = acp.new_id()
    refused = acp.send(third, "test/echo", agent=AGENT)
    assert_problem(refused, 503, "too_many_instances")
    assert int(refused.header("retry-after") or 0) > 0
    assert acp.entry(third) is None
    assert acp.delete(third).status == 404
    assert acp.call(first, "test/echo")
    assert acp.delete(first).status == 204
    assert acp.send(third, "test/echo", agent=AGENT).status == 200


@pytest.mark.clause("promise-N")
def test_a_thousand_refused_requests_with_huge_ids_leave_no_memory(start_server) -> None:
    server = start_server()
    client = server.client

    def refused(count: int) -> None:
        body = message("test/echo", request_id=1)
        with client.connect() as connection:
            for number in range(count):
                path = f"/v1/acp/{number:06}" + "i" * 50_000
                connection.send(client.build("POST", path, headers=JSON_HEADERS, body=body))
                assert connection.read_answer().status == 400

    refused(200)
    before = resident_bytes(server.pid)
    refused(1000)
    assert resident_bytes(server.pid) - before < 8 << 20


@pytest.mark.clause("promise-N")
def test_refused_first_posts_leave_no_memory(start_server) -> None:
    server = start_server()
    client = server.client

    def refused(count: int) -> None:
        with client.connect() as connection:
            for number in range(count):
                path = f"/v1/acp/{number:06}" + "i" * 900
                connection.send(
                    client.build("POST", path, headers=JSON_HEADERS, body=b'{"id":1,"method":"x"}')
                )
                assert connection.read_answer().status == 400
                connection.send(client.build("GET", path))
                assert connection.read_answer().status == 404

    refused(300)
    before = resident_bytes(server.pid)
    refused(3000)
    assert resident_bytes(server.pid) - before < 3 << 20


def test_idle_and_half_open_connections_do_not_keep_others_out(acp: Acp) -> None:
    idle = [acp.client.connect() for _ in range(200)]
    try:
        for connection in idle[:100]:
            connection.send(b"GET /v1/health HTTP/1.1\r\nhost: loc")
        assert acp.client.get("/v1/health").status == 200
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
@pytest.mark.clause("promise-N")
@pytest.mark.timeout(60)
def test_a_head_slower_than_its_time_is_408(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_REQUEST_TIMEOUT_MS": "500"})
    with server.client.connect(timeout=40) as connection:
        connection.send(b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\n")
        began = time.monotonic()
        assert_problem(connection.read_answer(), 408, "request_timeout")
        assert time.monotonic() - began < 35
        assert connection.is_closed_by_peer()


@pytest.mark.own_server("uvicorn has its own limits and time-outs for heads and bodies")
@pytest.mark.timeout(60)
def test_a_body_slower_than_its_time_is_408(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_REQUEST_TIMEOUT_MS": "500"})
    server_id = server.acp.start()
    headers = {**JSON_HEADERS, "content-length": "1000"}
    with server.client.connect(timeout=40) as connection:
        connection.send(server.client.build("POST", server.acp.path(server_id), headers=headers) + b'{"id"')
        assert_problem(connection.read_answer(), 408, "request_timeout")


def test_a_client_that_vanishes_in_the_middle_of_a_body_does_no_harm(acp: Acp, server_id: str) -> None:
    headers = {**JSON_HEADERS, "content-length": "100000"}
    for linger in (False, True):
        connection = acp.client.connect()
        connection.send(acp.client.build("POST", acp.path(server_id), headers=headers) + b'{"id":1,')
        if linger:  # a reset instead of a clean end
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    assert acp.call(server_id, "test/echo")
