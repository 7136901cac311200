"""The server's own loop: descriptors, timers, threads and signals, and the hosted asyncio loop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from sandbox_agent.runtime.loop import Loop

LIMIT_S = 10
BUSY_POLL_S = 100e-6


@pytest.fixture
def loop() -> Iterator[Loop]:
    before = signal.set_wakeup_fd(-1)
    loop = Loop(busy_poll_s=BUSY_POLL_S)
    loop.call_later(LIMIT_S, loop.stop)
    yield loop
    signal.set_wakeup_fd(before)
    if loop._hosted is not None:
        loop._hosted.close()
        asyncio.set_event_loop(None)
    # The pipe that wakes it stays: a thread whose work is done may be about to write to it.
    loop._epoll.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    yield ends
    for end in ends:
        os.close(end)


def test_a_reader_is_called_until_it_is_removed(loop: Loop, pipe: tuple[int, int]) -> None:
    seen: list[bytes] = []

    def readable() -> None:
        seen.append(os.read(pipe[0], 1))
        if len(seen) == 3:
            assert loop.remove_reader(pipe[0])
            assert not loop.remove_reader(pipe[0])
            loop.stop()

    loop.add_reader(pipe[0], readable)
    os.write(pipe[1], b"abcd")
    loop.run()
    assert seen == [b"a", b"b", b"c"]
    assert os.read(pipe[0], 9) == b"d", "not read after the removal"


def test_reader_and_writer_of_one_socket_do_not_disturb_each_other(loop: Loop) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    order: list[str] = []

    def writable() -> None:
        order.append("write")
        loop.remove_writer(ours.fileno())
        theirs.send(b"x")

    def readable() -> None:
        order.append("read")
        ours.recv(10)
        loop.remove_reader(ours.fileno())
        loop.stop()

    loop.add_reader(ours.fileno(), readable)
    loop.add_writer(ours.fileno(), writable)
    loop.run()
    assert order == ["write", "read"]
    ours.close()
    theirs.close()


def test_a_callback_that_fails_is_logged_and_the_others_go_on(
    loop: Loop, pipe: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        os.read(pipe[0], 1)
        raise RuntimeError("not today")

    loop.add_reader(pipe[0], fails)
    loop.call_soon(lambda: 1 / 0)
    loop.call_later(0.05, loop.stop)
    os.write(pipe[1], b"x")
    loop.run()
    assert [record.message for record in caplog.records] == ["loop.callback_failed"] * 2
    assert "not today" in caplog.text


def test_a_callback_may_close_what_is_ready_in_the_same_poll(loop: Loop) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    called: list[int] = []

    def close_all(number: int) -> Callable[[], None]:
        def close() -> None:
            called.append(number)
            for ours, _ in pairs:
                loop.remove_reader(ours.fileno())
                ours.close()
            loop.call_soon(loop.stop)

        return close

    for number, (ours, theirs) in enumerate(pairs):
        loop.add_reader(ours.fileno(), close_all(number))
        theirs.send(b"x")
    loop.run()
    assert len(called) == 1
    for _, theirs in pairs:
        theirs.close()


def test_timers_come_in_their_order_and_cancelled_ones_never(loop: Loop) -> None:
    seen: list[str] = []
    loop.call_later(0.03, seen.append, "third")
    loop.call_later(0.01, seen.append, "first")
    loop.call_later(0.02, seen.append, "second")
    loop.call_later(0.015, seen.append, "never").cancel()
    loop.call_later(0.04, loop.stop)
    loop.run()
    assert seen == ["first", "second", "third"]


def test_a_cancelled_timer_does_not_hide_the_next_one(loop: Loop) -> None:
    began = loop.time()
    loop.call_at(began, loop.stop).cancel()
    loop.call_at(began + 0.02, loop.stop)
    loop.run()
    assert 0.02 <= loop.time() - began < LIMIT_S / 2


def test_a_timer_that_is_due_can_still_be_cancelled(loop: Loop, pipe: tuple[int, int]) -> None:
    seen: list[str] = []
    timer = loop.call_at(loop.time(), seen.append, "timer")

    def readable() -> None:
        seen.append("reader")
        timer.cancel()
        loop.call_soon(loop.stop)
        loop.remove_reader(pipe[0])

    loop.add_reader(pipe[0], readable)
    os.write(pipe[1], b"x")
    loop.run()
    assert seen == ["reader"]


def test_cancelled_timers_do_not_pile_up(loop: Loop) -> None:
    for _ in range(10_000):
        loop.call_later(1000, print).cancel()
    assert len(loop._timers) < 1000


@pytest.mark.clause("runtime-own-loop")
def test_work_in_threads_comes_back_with_its_result_or_its_error(loop: Loop) -> None:
    outcomes: dict[str, object] = {}
    here = threading.get_ident()

    def done(name: str) -> Callable[[object, BaseException | None], None]:
        def tell(result: object, error: BaseException | None) -> None:
            assert threading.get_ident() == here
            outcomes[name] = error or result
            if len(outcomes) == 2:
                loop.stop()

        return tell

    loop.in_thread(threading.get_ident, done("elsewhere"))
    loop.in_thread(lambda: int("x"), done("fails"))
    loop.run()
    assert outcomes["elsewhere"] != here
    assert isinstance(outcomes["fails"], ValueError)


def test_as_many_jobs_as_threads_run_side_by_side(loop: Loop) -> None:
    together = threading.Barrier(8, timeout=LIMIT_S)
    errors: list[BaseException | None] = []

    def done(_: object, error: BaseException | None) -> None:
        errors.append(error)
        if len(errors) == 8:
            loop.stop()

    for _ in range(8):
        loop.in_thread(together.wait, done)
    loop.run()
    assert errors == [None] * 8


@pytest.mark.clause("runtime-own-loop")
def test_a_signal_wakes_a_sleeping_loop(loop: Loop) -> None:
    seen: list[str] = []

    def see(what: str) -> None:
        seen.append(what)
        if len(seen) == 2:
            loop.stop()

    before = signal.getsignal(signal.SIGUSR1)
    loop.on_signal(signal.SIGUSR1, lambda: see("signal"))
    loop.in_thread(lambda: os.kill(os.getpid(), signal.SIGUSR1), lambda *_: see("thread"))
    loop.run()
    signal.signal(signal.SIGUSR1, before)
    assert sorted(seen) == ["signal", "thread"]


@pytest.mark.clause("runtime-own-loop")
def test_asyncio_is_a_complete_guest(loop: Loop, pipe: tuple[int, int]) -> None:
    results: list[object] = []

    async def everything() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()
            await writer.wait_closed()

        async with asyncio.timeout(LIMIT_S):
            server = await asyncio.start_server(echo, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(await asyncio.to_thread(lambda: b"hello\n"))
            results.append(await reader.readline())
            writer.close()
            await writer.wait_closed()
            server.close()
            await asyncio.sleep(0.001)
            process = await asyncio.create_subprocess_exec("/bin/echo", "child", stdout=subprocess.PIPE)
            results.append(await process.communicate())

            # Woken by a callback of the host, while asyncio itself has nothing to do.
            arrived = asyncio.get_running_loop().create_future()
            loop.add_reader(pipe[0], lambda: arrived.set_result(os.read(pipe[0], 9)))
            loop.call_later(0.01, os.write, pipe[1], b"hosted")
            results.append(await arrived)
            loop.remove_reader(pipe[0])

    def begin() -> None:
        asyncio.create_task(everything()).add_done_callback(ended)

    def ended(task: asyncio.Task[None]) -> None:
        results.append(task.exception())
        loop.stop()

    loop.when_asyncio(begin)
    loop.run()
    assert results == [b"hello\n", (b"child\n", None), b"hosted", None]


def test_the_loop_and_its_threads_do_not_load_asyncio() -> None:
    program = (
        "import sys; from sandbox_agent.runtime.loop import Loop\n"
        "loop = Loop(); loop.in_thread(lambda: 1, lambda *_: loop.stop()); loop.run()\n"
        "print('asyncio' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize("busy_poll_s", [0.0, BUSY_POLL_S])
def test_it_polls_before_it_sleeps_only_if_asked_to(pipe: tuple[int, int], busy_poll_s: float) -> None:
    loop = Loop(busy_poll_s)
    heard: list[bytes] = []
    loop.add_reader(pipe[0], lambda: heard.append(os.read(pipe[0], 9)))
    for _ in range(10):
        os.write(pipe[1], b"x")
        loop.turn(LIMIT_S)
    loop._epoll.close()
    assert heard == [b"x"] * 10
    assert (loop._busy_poll is not None) is (busy_poll_s > 0)
