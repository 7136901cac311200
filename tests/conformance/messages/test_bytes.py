"""The bytes that go in are the bytes that come out, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.acp import Acp
from tests.support.processes import wait_until

DEEP = b"[" * 10_000 + b"]" * 10_000

SPELLINGS = {
    "number spelling": b'{"a":1.10,"b":1E5,"c":1e-7,"d":-0,"e":-0.0,"f":1.0,"g":0.1e+1}',
    "huge integer": b'{"n":' + b"9" * 500 + b"}",
    "integer above 2^64": b'{"n":18446744073709551616,"m":-9223372036854775809}',
    "number beyond double": b'{"n":1e400,"m":-1E-400}',
    "long fraction": b'{"n":0.12345678901234567890123456789012345678901234567890}',
    "duplicate keys": b'{"a":1,"a":2,"b":{"c":1,"c":1}}',
    "key order": b'{"z":1,"a":2,"m":3,"A":4,"0":5}',
    "white space": b'{ "a" :\t[ 1 ,  2 ]  ,"b": { } }',
    "unicode escapes": b'{"a":"\\u00e9\\u65e5","b":"\\/","c":"\\u0041"}',
    "raw unicode": '{"a":"é日🎉","b":"\u2028\u2029","c":"\u007f\u0085"}'.encode(),
    "lone surrogates": b'{"a":"\\ud800","b":"\\udfff x","c":"\\udc00\\ud800"}',
    "escaped control characters": b'{"a":"\\u0000\\n\\r\\t\\b\\f"}',
    "depth 10,000": b'{"deep":' + DEEP + b"}",
    "depth 10,000 of objects": b'{"a":' * 10_000 + b"null" + b"}" * 10_000,
    "empty keys": b'{"":{"":""}}',
    "nothing": b"{}",
}


class Recorder:
    """What reaches the agent's stdin, line by line."""

    def __init__(self, acp: Acp, server_id: str, path: Path) -> None:
        acp.call(server_id, "test/record", {"path": str(path)})
        self._path = path

    def lines(self, count: int) -> list[bytes]:
        wait_until(lambda: self._path.read_bytes().count(b"\n") >= count, 8, f"{count} recorded lines")
        data = self._path.read_bytes()
        assert data.endswith(b"\n")
        return data[:-1].split(b"\n")


@pytest.fixture
def recorder(acp: Acp, server_id: str, tmp_path: Path) -> Recorder:
    return Recorder(acp, server_id, tmp_path / "stdin.bin")


@pytest.mark.clause("spec1-4-no-injection", "decision-9")
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_notification_arrives_byte_for_byte(
    acp: Acp, server_id: str, recorder: Recorder, name: str
) -> None:
    body = b'{"method":"x","params":' + SPELLINGS[name] + b',"jsonrpc":"2.0"}'
    assert acp.post(server_id, body).status == 202
    assert recorder.lines(1) == [body]


@pytest.mark.clause("spec1-1-dumb-proxy", "decision-9")
@pytest.mark.parametrize("name", SPELLINGS)
def test_request_and_answer_travel_byte_for_byte(
    acp: Acp, server_id: str, recorder: Recorder, name: str
) -> None:
    answer = b'{"result":' + SPELLINGS[name] + b' , "jsonrpc":"2.0","id":77}'
    acp.call(server_id, "test/reply_to_next_line", {"hex": (answer + b"\n").hex()})
    body = b'{"params":' + SPELLINGS[name] + b',"method":"x","id":77}'
    with acp.stream(server_id) as stream:
        got = acp.post(server_id, body)
        assert (got.status, got.body) == (200, answer)
        assert stream.until(lambda event: event.data == answer)
    assert recorder.lines(2)[1] == body


@pytest.mark.clause("decision-9")
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_notification_of_the_agent_is_streamed_byte_for_byte(acp: Acp, server_id: str, name: str) -> None:
    line = b'{"params":' + SPELLINGS[name] + b',"method":"x"}'
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/write", {"hex": (line + b"\n").hex()})
        assert stream.until(lambda event: event.data == line)[-1].kind == "message"


@pytest.mark.clause("decision-9")
@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_a_raw_line_end_between_tokens_becomes_one_blank_each(
    acp: Acp, server_id: str, recorder: Recorder, newline: bytes
) -> None:
    body = newline + b"{" + newline + b' "method":"x",' + newline + b'"params":{}' + newline + b"}" + newline
    assert acp.post(server_id, body).status == 202
    folded = body.replace(b"\r\n", b"  ").replace(b"\n", b" ").replace(b"\r", b" ")
    single = body.replace(b"\r\n", b" ").replace(b"\n", b" ").replace(b"\r", b" ")
    assert recorder.lines(1)[0].strip(b" ") in (folded.strip(b" "), single.strip(b" "))


@pytest.mark.clause("spec1-4-stdio-framing")
def test_a_pretty_printed_request_is_one_line_for_the_agent(acp: Acp, server_id: str) -> None:
    body = b'{\n  "jsonrpc": "2.0",\n  "id": 3,\n  "method": "test/echo",\n  "params": {"a": "b\\nc"}\n}\n'
    answer = acp.post(server_id, body)
    assert answer.status == 200
    assert answer.json()["result"]["echo"] == {"a": "b\nc"}


def test_white_space_around_the_agents_answer_is_kept_but_for_the_line_end(acp: Acp, server_id: str) -> None:
    line = b'  {"id":5,"result":null}\t '
    acp.call(server_id, "test/reply_to_next_line", {"hex": (line + b"\r\n").hex()})
    assert acp.post(server_id, b'{"id":5,"method":"x"}').body == line


def test_a_carriage_return_inside_an_agents_line_is_a_blank_on_the_stream(acp: Acp, server_id: str) -> None:
    line = b'{"method":"x",\r"params":{}}'
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/write", {"hex": (line + b"\n").hex()})
        assert stream.until(lambda event: event.data == line.replace(b"\r", b" "))


def test_method_and_id_are_found_however_they_are_written(acp: Acp, server_id: str) -> None:
    """Escaped key names, nested look-alikes and late keys do not mislead the server."""
    tricky = b'{"params":{"id":1,"method":"no"},"\\u006dethod":"x","x":"\\"id\\":4","\\u0069d":"a"}'
    answer = b'{"result":{"id":9},"\\u0069d":"a"}'
    acp.call(server_id, "test/reply_to_next_line", {"hex": (answer + b"\n").hex()})
    got = acp.post(server_id, tricky)
    assert (got.status, got.body) == (200, answer)


def test_with_duplicate_keys_the_last_counts(acp: Acp, server_id: str) -> None:
    answer = b'{"id":1,"result":0,"id":2}'
    acp.call(server_id, "test/reply_to_next_line", {"hex": (answer + b"\n").hex()})
    got = acp.post(server_id, b'{"id":1,"method":"a","id":2,"method":"b"}')
    assert (got.status, got.body) == (200, answer)


@pytest.mark.clause("decision-9")
def test_two_million_bytes_travel_unchanged_both_ways(acp: Acp, server_id: str, recorder: Recorder) -> None:
    pad = b"\xc3\xa9" * 1_000_000
    answer = b'{"id":1,"result":"' + pad + b'"}'
    acp.post(
        server_id,
        b'{"method":"test/reply_to_next_line","params":{"hex":"' + (answer + b"\n").hex().encode() + b'"}}',
    )
    body = b'{"id":1,"method":"x","params":"' + pad + b'"}'
    got = acp.post(server_id, body)
    assert (got.status, got.body == answer) == (200, True)
    assert recorder.lines(2)[1] == body
