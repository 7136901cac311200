"""Run a command to its end and return its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import errors
from sandbox_agent.http.endpoints.processes.bodies import ProcessRunRequest, ProcessRunResponse
from sandbox_agent.http.endpoints.processes.requested_process import (
    START_ERRORS,
    TAG,
    launch_of,
    process_registry,
)
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_EXAMPLE = ProcessRunResponse(
    exit_code=3,
    timed_out=False,
    stdout="out\n",
    stderr="err\n",
    stdout_truncated=False,
    stderr_truncated=False,
    duration_ms=1,
)


@Operation(
    id="runProcess",
    tag=TAG,
    summary="Run a command to its end",
    description=(
        "The answer comes when the command has exited, or at the time-out; then what is left of its tree is "
        "killed. A client that leaves ends the command."
    ),
    body=Content(ProcessRunRequest, ProcessRunRequest(command="git", args=["status", "--short"])),
    responses={
        200: ResponseSpec("Exit and output; also after a failure", [Content(ProcessRunResponse, _EXAMPLE)])
    },
    errors=[*START_ERRORS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def run_process(request: Request, services: Services) -> Response:
    registry = process_registry(services)
    wanted = await json_body(request, services, ProcessRunRequest)
    launch = await launch_of(wanted, services)
    run = registry.run(launch, wanted.timeout_ms, wanted.max_output_bytes)
    return json_response(ProcessRunResponse.of(await request.while_connected(run)))
