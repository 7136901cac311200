"""A TCP proxy on a loopback port: delays what passes, and cuts all connections on SIGUSR1.

`python -m bench.proxy TARGET [--delay-ms N]`; TARGET is a port or the path of a unix socket. The first line
of the output is the port. The delay is on the way back: asyncio has a resolution of one millisecond.
"""

from __future__ import annotations

import argparse
import asyncio
import signal


class Proxy:
    def __init__(self, target: str, delay_s: float) -> None:
        self._target = target
        self._delay_s = delay_s
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=2048)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._cut)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._target.isdigit():
            back, forth = await asyncio.open_connection("127.0.0.1", int(self._target))
        else:
            back, forth = await asyncio.open_unix_connection(self._target)
        pair = {writer, forth}
        self._writers |= pair
        try:
            await asyncio.gather(self._copy(reader, forth, 0), self._copy(back, writer, self._delay_s))
        except ConnectionError:
            return
        finally:
            self._writers -= pair
            for one in pair:
                one.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(256 * 1024):
            if delay_s:
                loop.call_later(delay_s, writer.write, data)
            else:
                writer.write(data)
                await writer.drain()
        loop.call_later(delay_s, writer.close)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--delay-ms", type=float, default=0)
    options = parser.parse_args()
    asyncio.run(Proxy(options.target, options.delay_ms / 1000).serve())
