"""Terminals: size, one-time tickets, and the WebSocket that carries output and input.

Frames of the client are JSON: `input`, `resize`, `close`. Output is binary; `ready`, `exit` and `error` are
JSON. A client that gives `since` gets what it has missed, and `sequence` and `gap` frames that tell where it
is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec

from sandbox_agent import errors
from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.errors import Conflict, SandboxAgentError
from sandbox_agent.http.access.tickets import VALID_S
from sandbox_agent.http.endpoints.processes.bodies import Cells, ProcessTerminalSize, TerminalTicket
from sandbox_agent.http.endpoints.processes.input import check_input_size, decode_input
from sandbox_agent.http.endpoints.processes.requested_process import (
    ERRORS,
    PROCESS_ID,
    TAG,
    find_process,
    process_registry,
)
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Number, Operation, ResponseSpec
from sandbox_agent.terminals.launch import TerminalSize
from sandbox_agent.terminals.log_reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from sandbox_agent.http.services import Services
    from sandbox_agent.http.websocket import WebSocket
    from sandbox_agent.terminals.managed_process import ManagedProcess

_SINCE = Number("since", "Replay output with a larger `sequence`", 41)
# How long input waits for a program that does not read, before the client is told that it is lost. While it
# waits, nothing is received, so a client that leaves is noticed after this time too.
_INPUT_ROOM_S = 10.0
_NO_TERMINAL = "process is not running in tty mode"


class InputFrame(msgspec.Struct, tag_field="type", tag="input"):
    data: str
    encoding: Literal["base64", "utf8", "text"] | None = None


class ResizeFrame(msgspec.Struct, tag_field="type", tag="resize"):
    cols: Cells
    rows: Cells


class CloseFrame(msgspec.Struct, tag_field="type", tag="close"):
    pass


_decode = msgspec.json.Decoder(InputFrame | ResizeFrame | CloseFrame).decode


@Operation(
    id="resizeTerminal",
    tag=TAG,
    summary="Set the size of a terminal",
    parameters=[PROCESS_ID],
    body=Content(ProcessTerminalSize, ProcessTerminalSize(120, 40)),
    responses={200: ResponseSpec("The size", [Content(ProcessTerminalSize, ProcessTerminalSize(120, 40))])},
    errors=[*ERRORS, errors.Conflict, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def resize_terminal(request: Request, services: Services) -> Response:
    process_registry(services)
    wanted = await json_body(request, services, ProcessTerminalSize)
    _resize(find_process(services, request.path_params[0]), TerminalSize(wanted.cols, wanted.rows))
    return json_response(wanted)


@Operation(
    id="createTerminalTicket",
    tag=TAG,
    summary="A ticket that opens the terminal's WebSocket once, without the token",
    description="Add it to the address of the WebSocket as `ticket`. It is valid for 30 s.",
    parameters=[PROCESS_ID],
    responses={200: ResponseSpec("The ticket", [Content(TerminalTicket, TerminalTicket("3f2a...", 30000))])},
    errors=[*ERRORS, errors.Conflict],
)
async def make_ticket(request: Request, services: Services) -> Response:
    if not find_process(services, request.path_params[0]).is_terminal:
        raise Conflict(_NO_TERMINAL)
    ticket = services.access.tickets.issue(request.raw_path.removesuffix(b"ticket") + b"ws")
    return json_response(TerminalTicket(ticket, round(VALID_S * 1000)))


def _resize(managed: ManagedProcess, size: TerminalSize) -> None:
    if not managed.is_terminal:
        raise Conflict(_NO_TERMINAL)
    if not managed.process.resize(size):
        raise Conflict("the terminal has ended")


async def attach_terminal(websocket: WebSocket, services: Services) -> None:
    managed = find_process(services, websocket.path_params[0])
    if not managed.is_terminal:
        raise Conflict(_NO_TERMINAL)
    since, log = _SINCE.read(websocket), managed.log
    # Without a position: what is in memory, so that no output from before the connection is missing.
    start = log.first_in_memory - 1 if since is None else since
    reader = LogReader(log, start, services.streams.attach)
    managed.live.attach()
    try:
        await websocket.accept()
        ready = {"processId": managed.id, "type": "ready"}
        await websocket.send(_json(ready if since is None else {**ready, "sequence": log.last}))
        await _until_first(
            _send_output(websocket, managed, reader, tells_sequence=since is not None),
            _receive_input(websocket, services, managed),
        )
        await websocket.close()
    finally:
        managed.live.detach()
        services.streams.detach(reader.cursor)


async def _until_first(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until one ends, and cancel the others. Raises what that one has raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_output(
    websocket: WebSocket, managed: ManagedProcess, reader: LogReader, *, tells_sequence: bool
) -> None:
    """Send output until the process has exited and all of it is sent, or its record is deleted."""
    while True:
        item = await reader.read_output(managed.live)
        if isinstance(item, Gap):
            if tells_sequence:
                await websocket.send(_json({"oldest": item.oldest, "newest": item.newest, "type": "gap"}))
        elif item:
            # The number goes first: a client that has got the output then also knows its number, wherever
            # the connection breaks.
            if tells_sequence:
                await websocket.send(_json({"sequence": reader.position, "type": "sequence"}))
            await websocket.send(item)
        elif managed.log.closed:
            return
        elif managed.exit is not None and reader.is_at_end:
            await websocket.send(_json({**managed.exit.facts, "type": "exit"}))
            return
        else:
            await reader.wait()


async def _receive_input(websocket: WebSocket, services: Services, managed: ManagedProcess) -> None:
    """Handle the frames of the client until it closes; what is wrong with one is told and changes nothing."""
    while True:
        message = await websocket.receive()
        try:
            if isinstance(message, bytes):
                raise _FrameError("binary input is not supported; use text JSON frames")
            try:
                frame = _decode(message)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise _FrameError(f"invalid terminal frame: {error}") from None
            if isinstance(frame, CloseFrame):
                return
            if isinstance(frame, ResizeFrame):
                _resize(managed, TerminalSize(frame.cols, frame.rows))
            else:
                data = decode_input(frame.data, frame.encoding or "text")
                check_input_size(data, services.processes.config.max_input_bytes_per_request)
                queue = managed.process.input
                if queue.is_full and not await queue.room(_INPUT_ROOM_S):
                    raise _FrameError("the process does not read its input; this input was dropped")
                queue.put(data)
        except (_FrameError, SandboxAgentError) as error:
            await websocket.send(_json({"message": str(error), "type": "error"}))


class _FrameError(Exception):
    """A frame that cannot be used."""


def _json(body: dict[str, Any]) -> str:
    return msgspec.json.encode(body).decode()
