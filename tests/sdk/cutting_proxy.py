"""A TCP proxy that cuts connections when and where a test says.

Every connection is numbered from 0 in the order it is made. A `Cut` names how many bytes may pass in
one direction before both ends are closed, hard (reset) or politely. `cut_now` ends what is open. A `silent`
proxy keeps and accepts connections but passes no byte, as a network that has lost its route; what was sent
meanwhile arrives when it `speaks` again. `late` says by how many seconds the first response of a connection
is late.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Direction = Literal["up", "down"]


@dataclass(frozen=True)
class Cut:
    """Close the connection once this many bytes have passed in this direction."""

    direction: Direction
    after_bytes: int
    reset: bool = False


_REMEMBERED_BYTES = 200

Plan = Callable[[int, bytes], Cut | None]
"""Called with a connection's number and the first bytes of its request."""


class CuttingProxy:
    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.plan: Plan = lambda number, head: None
        self.late: Callable[[bytes], float] = lambda head: 0.0
        self.refuse = False
        self._passing = asyncio.Event()
        self._passing.set()
        self.connections = 0
        self.asked: list[bytes] = []
        """The beginnings of what the clients have sent: a connection carries several requests."""
        self.cuts = 0

    async def __aenter__(self) -> CuttingProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_now()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def silent(self) -> None:
        self._passing.clear()

    def speaks(self) -> None:
        self._passing.set()

    def cut_now(self) -> None:
        self.cuts += len(self._open) // 2
        for writer in list(self._open):
            _reset(writer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        number, self.connections = self.connections, self.connections + 1
        if self.refuse:
            _reset(writer)
            return
        try:
            head = await reader.read(65536)
            up_reader, up_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        self._open |= {writer, up_writer}
        cut = self.plan(number, head)
        try:
            await self._relay(reader, writer, up_reader, up_writer, head, cut)
        finally:
            self._open -= {writer, up_writer}
            for end in (writer, up_writer):
                end.close()

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
        head: bytes,
        cut: Cut | None,
    ) -> None:
        async def pump(
            source: asyncio.StreamReader, target: asyncio.StreamWriter, direction: Direction, first: bytes
        ) -> None:
            passed = 0
            data = first or await source.read(65536)
            if direction == "down":
                await asyncio.sleep(self.late(head))
            while data:
                await self._passing.wait()
                if cut is not None and cut.direction == direction and passed + len(data) > cut.after_bytes:
                    target.write(data[: cut.after_bytes - passed])
                    await target.drain()
                    self.cuts += 1
                    if cut.reset:
                        _reset(writer)
                    return
                passed += len(data)
                if direction == "up":
                    self.asked.append(data[:_REMEMBERED_BYTES])
                target.write(data)
                await target.drain()
                data = await source.read(65536)

        pumps = [
            asyncio.create_task(pump(reader, up_writer, "up", head)),
            asyncio.create_task(pump(up_reader, writer, "down", b"")),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in pumps:
                one.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
