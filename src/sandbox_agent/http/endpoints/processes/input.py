"""Write to the input of a process."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from sandbox_agent import errors
from sandbox_agent.errors import Conflict, InvalidRequest, PayloadTooLarge
from sandbox_agent.http.endpoints.processes.bodies import ProcessInputRequest, ProcessInputResponse
from sandbox_agent.http.endpoints.processes.requested_process import ERRORS, PROCESS_ID, TAG, process_registry
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services


@Operation(
    id="sendProcessInput",
    tag=TAG,
    summary="Write to the input of a process",
    description=(
        "The answer comes when the process has taken all of it; a client that leaves takes back what has not "
        "been written."
    ),
    parameters=[PROCESS_ID],
    body=Content(ProcessInputRequest, ProcessInputRequest(data="ls\n", encoding="text")),
    responses={200: ResponseSpec("Written", [Content(ProcessInputResponse, ProcessInputResponse(3))])},
    errors=[*ERRORS, errors.Conflict, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def send_input(request: Request, services: Services) -> Response:
    registry = process_registry(services)
    wanted = await json_body(request, services, ProcessInputRequest)
    data = decode_input(wanted.data, wanted.encoding or "base64")
    check_input_size(data, registry.config.max_input_bytes_per_request)
    managed = registry.get(request.path_params[0])
    if managed.exit is not None:
        raise Conflict("process is not running")
    if wanted.close and managed.is_terminal:
        raise Conflict("the input of a terminal cannot be closed; send \\u0004 for its end")
    queue = managed.process.input
    if data:
        await request.while_connected(queue.write(data))
    if wanted.close:
        queue.close_when_written()
    return json_response(ProcessInputResponse(len(data)))


def decode_input(data: str, encoding: str) -> bytes:
    try:
        if encoding == "base64":
            return binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
        return data.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise InvalidRequest(f"invalid {encoding} input: {error}") from None


def check_input_size(data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise PayloadTooLarge(f"input payload exceeds maxInputBytesPerRequest ({limit})", limit)
