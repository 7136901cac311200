"""Text of a client must stay text: in headers, log lines, streams, paths and requests that follow."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.support.clients.raw_http import ConnectionClosed
from tests.support.server_process import ServerProcess

SPLIT = "a\r\nset-cookie: stolen=1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
WEIRD_NAMES = [SPLIT, "\x00", "\x1b[31mred", '"; filename=evil', "\u2028", "..", "%0d%0a", "a;b=c", "é☃"]


@pytest.mark.clause("security-injection")
@pytest.mark.parametrize("name", WEIRD_NAMES)
def test_a_server_id_stays_inside_the_answer_that_names_it(server: ServerProcess, name: str) -> None:
    path = f"/v1/acp/{quote(name, safe='')}"
    for method in ("GET", "POST", "DELETE"):
        answer = server.client.request(method, path, headers={"content-type": "application/json"}, body=b"{}")
        assert answer.status in (400, 404, 405), answer.body
        assert b"set-cookie" not in answer.head.lower()
        assert answer.header("content-type") == "application/problem+json"
        json.loads(answer.body)
    log = server.log()
    assert not any(line.startswith(("set-cookie", "HTTP/1.1")) for line in log.splitlines())
    assert "\x1b" not in log


@pytest.mark.clause("security-injection")
@pytest.mark.parametrize("name", [n for n in WEIRD_NAMES if n not in ("\x00", "..")])
def test_a_file_name_stays_inside_the_header_of_its_download(server: ServerProcess, name: str) -> None:
    place = quote(name.replace("/", "_"), safe="")
    written = server.client.request("PUT", f"/v1/fs/file?path={place}", body=b"content")
    assert written.status == 200, written.body
    for route in ("file", "download", "stat"):
        answer = server.client.get(f"/v1/fs/{route}?path={place}")
        assert answer.status == 200, answer.body
        assert "set-cookie" not in dict(answer.headers)
        assert all(32 <= byte < 127 or byte in b"\r\n" for byte in answer.head), answer.head
    assert server.client.get("/v1/fs/entries").status == 200


@pytest.mark.clause("security-injection")
@pytest.mark.parametrize(
    "header",
    ["origin", "host", "authorization", "accept", "content-type", "last-event-id", "range", "prefer"],
)
@pytest.mark.parametrize("value", ["a\rset-cookie: x", "a\nset-cookie: x", "a\x00b", "\x7f\x80\xff"])
def test_a_header_value_is_never_echoed_as_a_header(server: ServerProcess, header: str, value: str) -> None:
    fields = {**server.client.auth(), "host": server.client.authority, header: value}
    lines = "\r\n".join(f"{name}: {text}" for name, text in fields.items())
    with server.client.connect() as connection:
        connection.send(f"GET /v1/acp/none HTTP/1.1\r\n{lines}\r\n\r\n".encode("latin-1"))
        try:
            answer = connection.read_answer()
        except ConnectionClosed:
            return
        assert answer.status >= 400
        assert not any(name == "set-cookie" for name, _ in answer.headers)


@pytest.mark.clause("security-paths-and-archives")
@pytest.mark.parametrize(
    "path",
    [
        "/ui/assets/..%2f..%2f..%2fapp.py",
        "/ui/..%2f..%2fapp.py",
        "/ui/assets/%2e%2e/%2e%2e/guard.py",
        "/ui/assets//etc/passwd",
        "/ui/assets/%00",
        "/../../etc/passwd",
        "//etc/passwd",
        "/v1/fs/file?path=..%2f..%2f..%2fetc%2fpasswd",
        "/v1/fs/file?path=%2fetc%2fpasswd",
        "/v1/fs/file?path=a%2f..%2f..%2fetc%2fpasswd",
        "/v1/fs/file?path=%252e%252e%252fetc",
        "/v1/fs/download?path=%2f",
        "/v1/config/mcp?directory=%2fetc&mcpName=x",
        "/v1/config/mcp?directory=..%2f..&mcpName=x",
    ],
)
def test_no_path_leads_out(server: ServerProcess, path: str) -> None:
    answer = server.client.get(path)
    assert b"root:" not in answer.body and b"def check" not in answer.body and b"import " not in answer.body
    if not path.startswith("/ui"):
        assert answer.status in (400, 403, 404), (answer.status, answer.body[:200])


@pytest.mark.clause("security-injection")
def test_an_agents_line_cannot_forge_an_event_or_end_a_stream(server: ServerProcess) -> None:
    acp = server.acp
    server_id = acp.start()
    forged = b'{"jsonrpc":"2.0","method":"m","params":{"a":1}}\r\nevent: gap\r\ndata: {}\r\n\r\nid: 999\n'
    with acp.stream(server_id, last_event_id=acp.entry(server_id)["lastEventId"]) as stream:  # type: ignore[index]
        acp.call(server_id, "test/write", {"hex": forged.hex()})
        acp.call(server_id, "test/write", {"hex": b'{"a":"\\u000a\\n\\n","b":\r\r1}\n'.hex()})
        events = stream.until(lambda event: b'"b":' in event.data)
    assert all(event.kind == "message" for event in events)
    numbers = [event.number for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert acp.delete(server_id).status == 204


@pytest.mark.clause("security-injection")
def test_a_body_cannot_bring_a_second_line_to_the_agent(server: ServerProcess) -> None:
    acp = server.acp
    server_id = acp.start()
    record = server.home / "record"
    acp.call(server_id, "test/record", {"path": str(record)})
    acp.post(server_id, b'{"jsonrpc":"2.0",\n"method":"test/echo",\r\n"params":{"x":"a\\nb"}}')
    acp.call(server_id, "test/echo")
    lines = record.read_bytes().splitlines()
    assert len(lines) == 2 and all(isinstance(json.loads(line), dict) for line in lines)
    assert acp.delete(server_id).status == 204


@pytest.mark.clause("security-injection")
@pytest.mark.parametrize("framing", [{"content-length": "5"}, {"transfer-encoding": "chunked"}])
def test_a_websocket_handshake_with_a_body_is_refused(server: ServerProcess, framing: dict[str, str]) -> None:
    """A proxy reads a body where the server would read frames."""
    handshake = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-version": "13"}
    handshake |= {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", **framing}
    body = b"hello" if "content-length" in framing else b"0\r\n\r\n"
    with server.client.connect() as connection:
        connection.send(server.client.build("GET", "/acp/mock", headers=handshake) + body)
        assert connection.read_answer().status in (400, 404, 405, 406)
