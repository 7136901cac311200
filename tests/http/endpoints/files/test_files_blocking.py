"""Requests on a hanging file system get their error in time and do not delay other requests.

The hanging mount is a real one: a FUSE file system whose server never answers.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.processes import wait_until

from ..file_server import client_of, problem, running


@pytest.mark.process
@pytest.mark.clause("decision-24", "promise-L", "files-blocking")
def test_fifos_do_not_block_other_requests(tmp_path: Path) -> None:
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
        os.close(device)  # hanging calls get ENOTCONN
        libc.umount2(os.fsencode(place), 2)


@pytest.mark.serial
@pytest.mark.fuse
@pytest.mark.process
@pytest.mark.clause("files-blocking")
@pytest.mark.timeout(90)
def test_a_hung_mount_does_not_affect_other_requests(tmp_path: Path, hung_mount: Path) -> None:
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
        assert time.monotonic() - began < 0.9, "the mount is known to hang"
        assert api.put("/v1/fs/file", params={"path": "g"}, content=b"x").status_code == 200
        hung = sum(
            Path(f"/proc/{server.pid}/task/{task}/comm").exists()
            for task in os.listdir(f"/proc/{server.pid}/task")
        )
        assert hung < 60


@pytest.mark.process
@pytest.mark.clause("files-blocking")
def test_a_huge_directory_does_not_slow_other_requests(tmp_path: Path) -> None:
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


@pytest.mark.process
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
