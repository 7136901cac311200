"""File work that hangs: it gets an answer in time, and nobody else notices.

The hung mount is a real one: a FUSE file system whose server never answers.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from sandbox_agent.errors import Timeout
from sandbox_agent.workspace.files.executor import HANGING_PER_AREA, FileWork
from sandbox_agent.workspace.files.progress_token import ProgressToken
from tests.support.processes import wait_until

from .file_server import client_of, problem, running

# ---- the threads


async def test_hung_work_is_answered_and_takes_no_thread_from_others() -> None:
    work = FileWork(silence_s=0.3, threads=2)
    hang = threading.Event()
    try:
        for path in ("/a", "/b", "/c", "/d", "/e"):
            with pytest.raises(Timeout):
                await work.run(path, hang.wait)
        assert work.lost == 5
        assert await work.run("/f", lambda: "done") == "done"
    finally:
        hang.set()
    await _until(lambda: work.lost == 0)
    assert await work.run("/a", lambda: "again") == "again"
    work.close()


async def test_where_several_hang_further_ones_are_refused_at_once() -> None:
    work = FileWork(silence_s=0.2, threads=2)
    hang = threading.Event()
    try:
        for _ in range(HANGING_PER_AREA):
            with pytest.raises(Timeout, match="timeout"):
                await work.run("/same", hang.wait)
        began = time.monotonic()
        with pytest.raises(Timeout) as refused:
            await work.run("/same", lambda: "never called")
        assert time.monotonic() - began < 0.2
        assert "does not answer" in refused.value.extensions["details"]["message"]
        assert await work.run("/other", lambda: 1) == 1
    finally:
        hang.set()
    await _until(lambda: work.lost == 0)
    assert await work.run("/same", lambda: "fine again") == "fine again"
    work.close()


async def test_work_that_gets_ahead_may_take_longer_than_the_limit() -> None:
    work = FileWork(silence_s=0.3)
    pulse = ProgressToken()

    def slow(pulse: ProgressToken) -> str:
        for _ in range(10):
            time.sleep(0.1)
            pulse.beat()
        return "done"

    assert await work.run("/x", slow, pulse) == "done"
    work.close()


async def test_work_held_back_behind_hung_work_is_told_when_that_is_lost() -> None:
    work = FileWork(silence_s=0.5, threads=2, long_s=0.05)
    hang = threading.Event()
    hung = [asyncio.ensure_future(work.run("/same", hang.wait)) for _ in range(30)]
    try:
        results = await asyncio.gather(*hung, return_exceptions=True)
        assert [type(result) for result in results] == [Timeout] * 30
        assert HANGING_PER_AREA <= work.lost <= HANGING_PER_AREA + 2
    finally:
        hang.set()
    work.close()


@pytest.mark.clause("files-blocking")
async def test_hung_and_long_work_delays_others_by_a_second_at_most() -> None:
    work = FileWork(silence_s=30, threads=2, long_s=0.2)
    hang = threading.Event()
    before = threading.active_count()
    hung = [asyncio.ensure_future(work.run(f"/{number}", hang.wait)) for number in range(6)]
    same = [asyncio.ensure_future(work.run("/same", hang.wait)) for _ in range(50)]
    try:
        await asyncio.sleep(0)
        assert await asyncio.wait_for(work.run("/other", lambda: 1), 10) == 1
        assert threading.active_count() - before < 28, "those that hang in one place wait for each other"
    finally:
        hang.set()
    assert all(await asyncio.gather(*hung, *same))
    work.close()


async def test_a_lane_cleans_up_after_its_last_step_also_a_late_one() -> None:
    work = FileWork(silence_s=0.2)
    hang, order = threading.Event(), []
    lane = work.lane("/x")

    def step() -> None:
        hang.wait()
        order.append("step")

    with pytest.raises(Timeout):
        await lane.run(step)
    lane.close(lambda: order.append("cleanup"))
    assert order == []
    hang.set()
    await _until(lambda: order == ["step", "cleanup"])
    work.close()


async def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


# ---- over the wire


@pytest.mark.clause("decision-24", "promise-L", "files-blocking")
def test_fifos_block_nobody(tmp_path: Path) -> None:
    """Two writes into a FIFO stopped the reference for good."""
    with running(tmp_path) as (server, api):
        os.mkfifo(server.home / "fifo")

        def poke(number: int) -> int:
            with client_of(server) as own:
                if number % 2:
                    return own.put("/v1/fs/file", params={"path": "fifo"}, content=b"x").status_code
                return own.get("/v1/fs/file", params={"path": "fifo"}).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(poke, range(24))) == {400}
        assert api.get("/v1/health").status_code == 200


@pytest.fixture
def hung_mount(tmp_path: Path) -> Iterator[Path]:
    """A mounted file system that never answers, until the test is over."""
    place = tmp_path / "hung"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"never", os.fsencode(place), b"fuse", 0, options) != 0:
        os.close(device)
        raise OSError(ctypes.get_errno(), "mount")
    try:
        yield place
    finally:
        os.close(device)  # whoever hangs gets ENOTCONN
        libc.umount2(os.fsencode(place), 2)


@pytest.mark.clause("files-blocking")
@pytest.mark.timeout(90)
def test_a_hung_mount_is_answered_and_nobody_else_notices(tmp_path: Path, hung_mount: Path) -> None:
    with running(tmp_path / "server", "--fs-timeout-ms", "1000") as (server, api):
        (server.home / "f").write_bytes(b"fine")

        def poke(number: int) -> tuple[int, float]:
            method, url = (("GET", "stat"), ("PUT", "file"), ("GET", "entries"), ("POST", "mkdir"))[
                number % 4
            ]
            began = time.monotonic()
            with client_of(server) as own:
                answer = own.request(method, f"/v1/fs/{url}", params={"path": f"{hung_mount}/{number}"})
            problem(answer, 504, "timeout")
            return answer.status_code, time.monotonic() - began

        with ThreadPoolExecutor(40) as pool:
            poked = [pool.submit(poke, number) for number in range(40)]
            for _ in range(20):
                assert api.get("/v1/health").status_code == 200
                assert api.get("/v1/fs/file", params={"path": "f"}).content == b"fine"
            waits = [future.result(30)[1] for future in poked]
        assert max(waits) < 20
        began = time.monotonic()
        refused = api.get("/v1/fs/stat", params={"path": f"{hung_mount}/again"})
        message = problem(refused, 504, "timeout")["details"]["message"]
        assert str(hung_mount) in message
        assert time.monotonic() - began < 0.9, "known to hang, so nobody waits"
        assert api.put("/v1/fs/file", params={"path": "g"}, content=b"x").status_code == 200
        hung = sum(
            Path(f"/proc/{server.pid}/task/{task}/comm").exists()
            for task in os.listdir(f"/proc/{server.pid}/task")
        )
        assert hung < 60


@pytest.mark.clause("files-blocking")
def test_a_huge_directory_slows_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as (server, api):
        many = server.home / "many"
        many.mkdir()
        for number in range(5000):
            os.close(os.open(many / f"{number}", os.O_CREAT | os.O_WRONLY))
        done = threading.Event()
        slowest = 0.0

        def watch() -> None:
            nonlocal slowest
            with client_of(server) as own:
                while not done.is_set():
                    began = time.monotonic()
                    own.get("/v1/health")
                    slowest = max(slowest, time.monotonic() - began)
                    done.wait(0.01)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            listed = api.get("/v1/fs/entries", params={"path": str(many)})
            assert len(listed.json()) == 5000
            deleted = api.delete("/v1/fs/entry", params={"path": str(many), "recursive": "true"})
            assert deleted.status_code == 200
        finally:
            done.set()
            watcher.join()
        assert slowest < 2
        wait_until(lambda: not many.exists(), 5, "the directory to be gone")


@pytest.mark.clause("files-blocking")
def test_a_slow_uploader_holds_no_thread(tmp_path: Path) -> None:
    """Far more half-sent uploads than threads, and everything else still works."""
    import socket

    with running(tmp_path) as (server, api):
        raw: list[socket.socket] = []
        try:
            for number in range(40):
                connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
                raw.append(connection)
                kind = ("PUT /v1/fs/file", "POST /v1/fs/upload-batch")[number % 2]
                connection.sendall(
                    f"{kind}?path=slow{number} HTTP/1.1\r\nhost: localhost\r\n"
                    f"authorization: Bearer {server.token}\r\ncontent-type: application/x-tar\r\n"
                    "content-length: 1000\r\n\r\nxx".encode()
                )
            answer: httpx.Response = api.put("/v1/fs/file", params={"path": "quick"}, content=b"x")
            assert answer.status_code == 200
        finally:
            for connection in raw:
                connection.close()
