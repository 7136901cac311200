"""Constant memory: files far larger than what the server may grow by.

2 GiB in both directions; with `--full` also a sparse file of 5 GiB.
"""

from __future__ import annotations

import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.server_process import ServerProcess

from ..file_server import resident_bytes, running

GIB = 1 << 30
MAX_GROWTH = 32 << 20
PIECE = bytes(1 << 20)
SIZES = [2 * GIB, pytest.param(5 * GIB, marks=pytest.mark.full)]


class Watch:
    """The most a process grew by while the block ran."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = threading.Event()
        self._before = self._most = resident_bytes(pid)
        self._thread = threading.Thread(target=self._look)

    @property
    def growth(self) -> int:
        return self._most - self._before

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            self._most = max(self._most, resident_bytes(self._pid))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        self._thread.join()


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // len(PIECE)):
        yield PIECE


class Plain:
    """Requests over a bare socket: no HTTP library could keep up with these sizes."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=100)

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._socket.close()

    def request(self, line: str, *headers: str) -> None:
        head = [
            f"{line} HTTP/1.1",
            "host: localhost",
            f"authorization: Bearer {self._server.token}",
            *headers,
        ]
        self._socket.sendall("\r\n".join([*head, "", ""]).encode())

    def send(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self._socket.sendall(piece)

    def answer(self) -> tuple[bytes, int]:
        """The head of the answer, and how many bytes of body there were."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(65536)
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        size, buffer = len(body), bytearray(1 << 20)
        while size < length:
            size += self._socket.recv_into(buffer) or length + 1
        return head, size


def received(api: httpx.Client, url: str, path: Path) -> int:
    with api.stream("GET", url, params={"path": str(path)}) as answer:
        assert answer.status_code == 200
        return sum(len(piece) for piece in answer.iter_raw(1 << 20))


@pytest.mark.clause("promise-L", "files-reading", "files-writing")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("size", SIZES)
def test_a_huge_file_goes_up_and_down_in_constant_memory(tmp_path: Path, size: int) -> None:
    with running(tmp_path) as (server, api), Plain(server) as plain:
        api.put("/v1/fs/file", params={"path": "warm"}, content=PIECE)
        received(api, "/v1/fs/file", server.home / "warm")
        with Watch(server.pid) as watch:
            plain.request("PUT /v1/fs/file?path=big", f"content-length: {size}")
            plain.send(zeros(size))
            assert plain.answer()[0].startswith(b"HTTP/1.1 200 ")
            assert (server.home / "big").stat().st_size == size
            (server.home / "big").unlink()
        assert watch.growth < MAX_GROWTH
        with (server.home / "sparse").open("wb") as sparse:
            sparse.truncate(size)
        with Watch(server.pid) as watch:
            plain.request("GET /v1/fs/file?path=sparse")
            assert plain.answer()[1] == size
        assert watch.growth < MAX_GROWTH
        last = {"range": f"bytes={size - 3}-"}
        part = api.get("/v1/fs/file", params={"path": "sparse"}, headers=last)
        assert (part.status_code, part.content) == (206, b"\0\0\0")


@pytest.mark.clause("promise-M")
@pytest.mark.timeout(120)
def test_archives_go_up_and_down_in_constant_memory(tmp_path: Path) -> None:
    size = 256 << 20
    info = tarfile.TarInfo("big")
    info.size = size

    def archive() -> Iterator[bytes]:
        yield info.tobuf()
        yield from zeros(size)
        yield bytes(1024)

    with running(tmp_path) as (server, api):
        small = io.BytesIO()
        with tarfile.open(fileobj=small, mode="w") as warm:
            warm.addfile(tarfile.TarInfo("x"))
        headers = {"content-type": "application/x-tar"}
        api.post("/v1/fs/upload-batch", params={"path": "to"}, content=small.getvalue(), headers=headers)
        received(api, "/v1/fs/download", server.home / "to")
        with Watch(server.pid) as watch:
            answer = api.post(
                "/v1/fs/upload-batch", params={"path": "to"}, content=archive(), headers=headers, timeout=100
            )
            assert answer.status_code == 200
            assert received(api, "/v1/fs/download", server.home / "to") > size
        assert watch.growth < MAX_GROWTH
