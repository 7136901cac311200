"""Follow the event stream of an instance across reconnects, with the bytes unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import click

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError, APIStatusError, NotFoundError
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors, segment
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder
from sandbox_agent.sdk.transport.streams.stream_reader import FIRST_PAUSE_S, LAST_PAUSE_S

Writer = Callable[[str | None, bytes], None]


class StreamFollower:
    def __init__(self, api: HttpApi, server_id: str, write: Writer) -> None:
        self._api = api
        self._server_id = server_id
        self._path = f"/v1/acp/{segment(server_id)}"
        self._write = write
        self._last: int | None = None
        self._seen = False
        self._stop_at: int | None = None

    async def follow(self, last_event_id: int | None, *, stop_at_newest: bool) -> None:
        """Write every event after `last_event_id` until the instance is closed or the newest is reached."""
        self._last = last_event_id
        if stop_at_newest:
            self._stop_at = await self._newest()
            if self._stop_at <= (last_event_id or 0):
                return
        attempt = 0
        while True:
            before = self._last
            try:
                if await self._read_once():
                    return
            except NotFoundError:
                if not self._seen:
                    raise
                click.echo("the instance was closed", err=True)
                return
            except APIStatusError as error:
                if error.status_code < 500 and error.status_code not in (408, 429):
                    raise
                click.echo(f"the server returned {error.status_code}; trying again", err=True)
            except APIConnectionError as error:
                if not self._seen:
                    raise
                click.echo(f"{error}; trying again", err=True)
            attempt = 0 if self._last != before else attempt + 1
            await asyncio.sleep(backoff(attempt, first=FIRST_PAUSE_S, limit=LAST_PAUSE_S))

    async def _newest(self) -> int:
        response = await self._api.request("GET", "/v1/acp")
        for instance in json_codec.decode(response.content)["servers"]:
            if instance["serverId"] == self._server_id:
                return int(instance["lastEventId"])
        return 1  # not listed: opening the stream returns the error of the server

    async def _read_once(self) -> bool:
        """Read one connection to its end; True if no further events are wanted."""
        headers = {"accept": "text/event-stream"}
        if self._last is not None:
            headers["last-event-id"] = str(self._last)
        decoder = FrameDecoder()
        silence_s = self._api.stream_silence_s
        async with self._api.open("GET", self._path, headers=headers, read_timeout=silence_s) as response:
            self._seen = True
            with network_errors(f"GET {self._path}"):
                async for chunk in response.aiter_bytes():
                    for frame in decoder.feed(chunk):
                        if self._take(frame):
                            return True
        return False

    def _take(self, frame: Frame) -> bool:
        if frame.event == "gap":
            facts = json_codec.decode(frame.data)
            click.echo(f"gap: the server no longer has the events before {facts['oldest']}", err=True)
        elif frame.event == "message":
            self._write(frame.id, frame.data)
            if frame.id is not None and frame.id.isdigit():
                self._last = int(frame.id)
        return self._stop_at is not None and self._last is not None and self._last >= self._stop_at
