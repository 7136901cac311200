"""A reader of `GET /v1/acp/{server_id}?include=...`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.clients.raw_http import Client, Connection

Frame = tuple[str, str | None, Any]


class IncludedStream:
    """The frames of a stream: name, id and decoded data."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rest = b""

    def next(self) -> Frame:
        while b"\n\n" not in self._rest:
            chunk = self._connection.read_chunk()
            assert chunk, "the stream has ended"
            self._rest += chunk
        frame, _, self._rest = self._rest.partition(b"\n\n")
        fields = dict(line.split(": ", 1) for line in frame.decode().split("\n"))
        if "event" not in fields:
            return self.next()  # a heartbeat
        return fields["event"], fields.get("id"), json.loads(fields["data"])

    def until(self, *names: str) -> list[Frame]:
        """The frames up to one of each of these names, in any order."""
        missing, frames = list(names), []
        while missing:
            frames.append(self.next())
            if frames[-1][0] in missing:
                missing.remove(frames[-1][0])
        return frames


@contextmanager
def opened(client: Client, path: str, **headers: str) -> Iterator[IncludedStream]:
    with client.connect() as connection:
        connection.send(client.build("GET", path, headers=headers))
        status, _, _ = connection.read_head()
        assert status == 200
        yield IncludedStream(connection)
