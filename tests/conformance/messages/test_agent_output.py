"""What the agent writes and what becomes of it: each kind of line, noise, length, stderr."""

from __future__ import annotations

import pytest

from tests.support.clients.acp import AGENT, Acp, message
from tests.support.clients.event_stream import answers, method_is
from tests.support.processes import resident_bytes


def write_lines(acp: Acp, server_id: str, data: bytes) -> None:
    acp.call(server_id, "test/write", {"hex": data.hex()})


@pytest.mark.clause("decision-4")
def test_the_answer_is_also_on_the_stream_under_its_own_number(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        answer = acp.send(server_id, "test/echo", {"a": 1}, request_id="q")
        events = stream.until(answers("q"))
    assert events[-1].data == answer.body
    assert [event.number for event in events] == [1, 2]


@pytest.mark.clause("decision-4")
def test_turn_and_updates_are_streamed_in_the_order_they_were_written(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/flood", {"count": 10}, request_id="turn")
    with acp.stream(server_id) as stream:
        events = stream.until(answers("turn"))
    assert [event.json()["params"]["n"] for event in events[1:-1]] == list(range(1, 11))


def test_an_answer_without_a_waiting_request_is_streamed(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        write_lines(acp, server_id, b'{"jsonrpc":"2.0","id":"nobody","result":1}\n')
        stream.until(lambda event: event.data == b'{"jsonrpc":"2.0","id":"nobody","result":1}')


@pytest.mark.clause("spec1-3.3-stream")
@pytest.mark.parametrize("line", [b"[1,2]", b"42", b"null", b'"text"', b"true", b"{}", b'{"a":1}', b"[]"])
def test_any_other_json_is_streamed_as_it_is(acp: Acp, server_id: str, line: bytes) -> None:
    with acp.stream(server_id) as stream:
        write_lines(acp, server_id, line + b"\n")
        assert [event.data for event in stream.take(2)][1] == line


def test_blank_lines_are_nothing(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        write_lines(acp, server_id, b'\n  \n\t\n\r\n \r\n{"method":"after"}\n')
        assert [event.data for event in stream.take(2)][1] == b'{"method":"after"}'


@pytest.mark.clause("decision-17")
@pytest.mark.parametrize(
    ("line", "raw"),
    [
        (b"Welcome to the agent v1!", "Welcome to the agent v1!"),
        (b'{"half":', '{"half":'),
        (b'{"a":1} trailing', '{"a":1} trailing'),
        (b"NaN", "NaN"),
        ("grüße 🎉 no JSON".encode(), "grüße 🎉 no JSON"),
        (b'{"bad":"\xff\xfe"}', '{"bad":"\ufffd\ufffd"}'),
        (b"\xff", "\ufffd"),
        (b'{"a":"\x01"}', '{"a":"\x01"}'),
    ],
)
def test_a_line_that_is_not_json_is_reported_and_the_stream_continues(
    acp: Acp, server_id: str, line: bytes, raw: str
) -> None:
    with acp.stream(server_id) as stream:
        write_lines(acp, server_id, line + b"\n")
        event = stream.until(method_is("_adapter/invalid_stdout"))[-1].json()
        assert list(event) == ["jsonrpc", "method", "params"]
        assert sorted(event["params"]) == ["error", "raw"]
        assert event["params"]["raw"] == raw
        assert event["params"]["error"]
        answer = acp.send(server_id, "test/echo", request_id="still")
        assert stream.until(answers("still"))[-1].data == answer.body


@pytest.mark.parametrize("fault", [b"\x01", b"\xff", b"\\q", b'"'])
def test_a_long_line_with_one_wrong_byte_is_reported(acp: Acp, server_id: str, fault: bytes) -> None:
    text = b"bG9uZyB0ZXh0" * 9000
    with acp.stream(server_id) as stream:
        write_lines(acp, server_id, b'{"method":"long","params":"%b%b%b"}\n' % (text, fault, text))
        told = stream.until(method_is("_adapter/invalid_stdout"))[-1].json()["params"]
        assert told["raw"].startswith('{"method":"long","params":"bG9u')
        whole = b'{"method":"long","params":"%b"}' % (text * 2)
        write_lines(acp, server_id, whole + b"\n")
        assert stream.until(method_is("long"))[-1].data == whole


@pytest.mark.clause("decision-17")
@pytest.mark.parametrize("offset", range(4))
def test_long_noise_is_cut_at_4_kib_on_a_character_boundary(acp: Acp, server_id: str, offset: int) -> None:
    noise = "x" * offset + "🎉" * 3000
    with acp.stream(server_id) as stream:
        write_lines(acp, server_id, noise.encode() + b"\n")
        raw = stream.until(method_is("_adapter/invalid_stdout"))[-1].json()["params"]["raw"]
    assert 4096 - 4 < len(raw.encode()) <= 4096
    assert noise.startswith(raw)


def test_a_banner_before_the_first_answer_does_no_harm(acp: Acp) -> None:
    server_id = acp.new_id()
    script = b'Starting...\nReady.\n{"id":1,"result":"ok"}\n'
    acp.notify(server_id, "test/reply_to_next_line", {"hex": script.hex()}, agent=AGENT)
    assert acp.post(server_id, b'{"id":1,"method":"initialize"}').body == b'{"id":1,"result":"ok"}'


@pytest.mark.clause("spec1-4-stdio-framing")
def test_lines_that_arrive_in_pieces_are_put_together(acp: Acp, server_id: str) -> None:
    line = '{"method":"pieces","params":"é🎉"}\n'.encode()
    with acp.stream(server_id) as stream:
        for number in range(len(line)):
            acp.notify(server_id, "test/write", {"hex": line[number : number + 1].hex(), "answer": False})
        assert stream.until(method_is("pieces"))[-1].data == line[:-1]


def test_the_last_line_without_newline_is_still_an_answer(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        answer = acp.send(server_id, "test/half_line_exit", request_id="last")
        assert answer.status == 200
        assert answer.json() == {"jsonrpc": "2.0", "id": "last", "result": {"last": True}}
        events = stream.until(method_is("_adapter/agent_exited"))
        assert events[-2].data == answer.body


@pytest.mark.clause("decision-18", "promise-E")
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 132_000, 5_000_000])
def test_long_lines_are_ordinary_lines(acp: Acp, server_id: str, size: int) -> None:
    answer = acp.call(server_id, "test/big_line", {"bytes": size}, timeout=20)
    assert len(answer["pad"]) == size


@pytest.mark.clause("promise-E")
def test_a_line_of_fifty_megabytes_goes_through_post_and_stream(acp: Acp, server_id: str) -> None:
    size = 50_000_000
    with acp.stream(server_id, timeout=40) as stream:
        waiting = acp.in_background(
            acp.send, server_id, "test/big_line", {"bytes": size}, request_id="big", timeout=40
        )
        event = stream.until(lambda event: len(event.data) > size, timeout=40)[-1]
        assert event.data == waiting.result(40).body
        assert acp.client.get("/v1/health").status == 200


@pytest.mark.clause("decision-18", "promise-E")
def test_a_line_over_the_limit_is_dropped_and_reported(start_server) -> None:
    server = start_server(
        settings={"SANDBOX_AGENT_ACP_MAX_LINE_BYTES": "100000", "SANDBOX_AGENT_MAX_BODY_BYTES": "1000000"}
    )
    acp = server.acp
    server_id = acp.start()
    with acp.stream(server_id) as stream:
        at_limit = b'"' + b"y" * 99_998 + b'"'
        acp.notify(server_id, "test/garbage", {"text": at_limit.decode()})
        assert stream.take(2)[1].data == at_limit
        acp.notify(server_id, "test/big_line", {"bytes": 300_000, "as_answer": False})
        told = stream.next_message().json()
        assert told["method"] == "_adapter/invalid_stdout"
        assert len(told["params"]["raw"].encode()) <= 4096
        assert acp.send(server_id, "test/echo", request_id="on").body == stream.until(answers("on"))[-1].data


@pytest.mark.clause("decision-18", "promise-E")
def test_the_default_line_limit_is_64_mib(start_server) -> None:
    server = start_server()
    acp = server.acp
    server_id = acp.start()
    before = resident_bytes(server.pid)
    with acp.stream(server_id, timeout=40) as stream:
        stream.next_message()
        acp.notify(server_id, "test/big_line", {"bytes": 63 << 20, "as_answer": False})
        assert len(stream.next_message(timeout=40).data) > 63 << 20
        acp.notify(server_id, "test/big_line", {"bytes": 70 << 20, "as_answer": False})
        assert stream.next_message(timeout=40).json()["method"] == "_adapter/invalid_stdout"
        acp.call(server_id, "test/echo", timeout=20)
    assert resident_bytes(server.pid) - before < 400 << 20


@pytest.mark.clause("decision-17")
def test_adapter_messages_can_be_switched_off(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_NO_ADAPTER_MESSAGES": "1"}).acp
    server_id = acp.start()
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/garbage", request_id="noise")
        assert [event.json().get("id") for event in stream.take(2)][1] == "noise"
        assert acp.send(server_id, "test/exit").status == 502
        acp.call(server_id, "test/echo", request_id="again", agent=AGENT)
        assert stream.next_message().json()["id"] == "again"


@pytest.mark.clause("promise-D")
def test_five_megabytes_on_stderr_while_streaming_do_not_block_the_stream(acp: Acp, server_id: str) -> None:
    waiting = acp.in_background(acp.send, server_id, "test/stderr", {"bytes": 5_000_000}, timeout=20)
    assert waiting.result(20).json()["result"] == {"wrote": 5_000_000}
    assert acp.call(server_id, "test/flood", {"count": 100}) == {"sent": 100}


@pytest.mark.clause("spec1-3.6-subprocess")
def test_an_agent_that_closes_stdout_but_lives_does_not_hang_its_callers(acp: Acp, server_id: str) -> None:
    answer = acp.send(server_id, "test/close_stdout", request_id="bye")
    assert answer.status == 502
    assert acp.send(server_id, "test/echo").status == 502


@pytest.mark.clause("spec1-3.3-stream")
def test_a_request_of_the_agent_reaches_every_subscriber(acp: Acp, server_id: str) -> None:
    streams = [acp.stream(server_id) for _ in range(5)]
    try:
        acp.post(server_id, message("test/ask_client", {"id": "all"}))
        for stream in streams:
            assert stream.until(method_is("client/ask"))[-1].json()["id"] == "all"
    finally:
        for stream in streams:
            stream.close()
