"""Replies and streams whose sink raises: the failure goes to the sink, and nothing else is disturbed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention
from sandbox_agent.errors import InternalError
from sandbox_agent.http.acp.reply import PostReply
from sandbox_agent.http.acp.stream import Source, StreamPump
from sandbox_agent.http.services import Services
from sandbox_agent.settings import Settings


class FailingSink:
    """Raises in one of its methods."""

    can_write = True

    def __init__(self, method: str) -> None:
        self._method = method
        self.failures: list[Exception] = []

    def _call(self, method: str) -> None:
        if method == self._method:
            raise ZeroDivisionError(method)

    def respond(self, status: int, headers: Any, body: bytes = b"") -> None:
        self._call("respond")

    def start(self, status: int, headers: Any) -> None:
        self._call("start")

    def write(self, data: bytes) -> None:
        self._call("write")

    def write_pieces(self, pieces: Any) -> None:
        self._call("write")

    def write_file(self, file_range: Any) -> None:
        self._call("write")

    def end(self) -> None:
        self._call("end")

    def fail(self, error: Exception) -> None:
        self.failures.append(error)

    def attach(self, writer: Any, *, is_endless: bool = False) -> None:
        pass


def test_an_answer_that_cannot_be_written_fails_the_request() -> None:
    sink = FailingSink("respond")
    PostReply(sink, []).settle(b"{}")
    assert [type(error) for error in sink.failures] == [ZeroDivisionError]


@pytest.mark.clause("security-H2")
def test_a_message_that_is_not_answered_fails_with_its_202() -> None:
    sink = FailingSink("respond")
    PostReply(sink, []).settle_forwarded(b"")
    assert [type(error) for error in sink.failures] == [ZeroDivisionError]


@pytest.mark.clause("security-H2")
async def test_a_heartbeat_that_cannot_be_written_fails_the_stream() -> None:
    services = Services(Settings(acp_heartbeat_ms=1))
    log = EventLog(Retention(100, 10_000))
    sink = FailingSink("write")
    StreamPump(sink, services, [Source(log, None)], [])
    async with asyncio.timeout(5):
        while not sink.failures:  # noqa: ASYNC110 - the sink has no event
            await asyncio.sleep(0.001)
    assert [type(error) for error in sink.failures] == [ZeroDivisionError]
    log.close()


@pytest.mark.parametrize("method", ["start", "write", "end"])
@pytest.mark.parametrize("answer", [b"{}", InternalError()], ids=["answer", "error"])
def test_an_early_header_that_cannot_be_written_fails_the_request(method: str, answer: Any) -> None:
    sink = FailingSink(method)
    reply = PostReply(sink, [])
    reply.raw_id = b"1"
    reply.send_filler()
    reply.settle(answer)
    assert ZeroDivisionError in [type(error) for error in sink.failures]


async def test_a_stream_that_cannot_be_written_ends_and_leaves_other_streams_alone() -> None:
    services = Services(Settings())
    log = EventLog(Retention(100, 10_000))
    broken, healthy = FailingSink("write"), FailingSink("nothing")
    for sink in (broken, healthy):
        StreamPump(sink, services, [Source(log, None)], [])
    log.publish([b"{}"])
    assert [type(error) for error in broken.failures] == [ZeroDivisionError]
    assert healthy.failures == []
    assert log.subscribers == 1
    log.close()


async def test_a_stream_that_cannot_start_takes_no_slot() -> None:
    services = Services(Settings(max_streams=1))
    log = EventLog(Retention(100, 10_000))
    with pytest.raises(ZeroDivisionError):
        StreamPump(FailingSink("start"), services, [Source(log, None)], [])
    StreamPump(FailingSink("nothing"), services, [Source(log, None)], [])
    assert log.subscribers == 1
    log.close()
