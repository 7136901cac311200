"""A rolling restart: streams say that the server is going, nothing of the old one stays."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.clients.event_stream import StreamEnded
from tests.support.clients.raw_http import ConnectionClosed
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess


@pytest.mark.clause("promise-P-rolling-restart")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stream_ends_with_the_comment_that_the_server_is_stopping(start_server, number) -> None:
    server: ServerProcess = start_server()
    server_id = server.acp.start()
    with server.acp.stream(server_id) as early, server.acp.stream(server_id) as late:
        for stream in (early, late):
            stream.next_message()
        server.signal(number)
        for stream in (early, late):
            seen = []
            with pytest.raises(StreamEnded):
                while True:
                    seen.append(stream.next(timeout=6).kind)
            assert seen[-1] == "stopping" and seen.count("stopping") == 1, seen
    assert server.wait_for_exit(6) == 0


@pytest.mark.clause("promise-P-rolling-restart")
def test_a_reader_far_behind_gets_what_it_can_take_and_the_end(start_server) -> None:
    """A flood that the reader has not taken yet does not hold up the end."""
    server: ServerProcess = start_server()
    server_id = server.acp.start()
    with server.acp.stream(server_id, receive_buffer=128 * 1024) as stream:
        server.acp.call(server_id, "test/flood", {"count": 20_000, "size": 400}, timeout=30)
        server.signal(signal.SIGTERM)
        assert server.wait_for_exit(6) == 0
        numbers = []
        try:
            while True:
                event = stream.next(timeout=6)
                numbers += [event.number] if event.kind == "message" else []
        except (StreamEnded, ConnectionClosed, ConnectionResetError):
            pass  # Ended or cut: what matters is that what came is in order, and that it came to an end.
    assert numbers == list(range(1, len(numbers) + 1))


def owners(spill: Path) -> set[int]:
    """The servers that have a directory there."""
    return {int(path.name.partition("-")[0]) for path in spill.iterdir()} if spill.is_dir() else set()


@pytest.mark.clause("promise-P-rolling-restart")
def test_the_next_server_on_the_same_directories_starts_clean(tmp_path: Path) -> None:
    """After a kill as well: the dead one's spill and processes are gone, its ids are unknown."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        server = ServerProcess(tmp_path, arguments=["--replay-max-events", "16"])
        try:
            server.ready()
            spill = server.data_home / "sandbox-agent" / "spill"
            # Cleaned up beside the first requests, not before them.
            wait_until(lambda: owners(spill) == {server.pid}, 10, "only its own")  # noqa: B023 - used at once
            assert server.acp.list() == []
            server_id = server.acp.start("the-same-id")
            server.acp.call(server_id, "test/flood", {"count": 2000, "size": 100})
            wait_until(lambda: len(list(spill.rglob("*"))) > 2, 5, "a spill file")  # noqa: B023 - used at once
            server.signal(number)
            server.wait_for_exit(6)
            wait_until(lambda: not server.marked_processes(), 10, "no process left")  # noqa: B023 - used at once
        finally:
            server.end()
    assert list(spill.iterdir()) == []
