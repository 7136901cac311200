"""The limits of processes, read and changed while the server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sandbox_agent import errors
from sandbox_agent.http.endpoints.processes.access import ERRORS, TAG, process_registry
from sandbox_agent.http.endpoints.processes.bodies import ProcessConfigBody
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec
from sandbox_agent.terminals.process_config import ProcessConfig

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_CONTENT = Content(ProcessConfigBody, ProcessConfigBody.of(ProcessConfig()))


@Operation(
    id="getProcessConfig",
    tag=TAG,
    summary="The limits of processes",
    responses={200: ResponseSpec("All limits", [_CONTENT])},
    errors=ERRORS,
)
async def get_config(request: Request, services: Services) -> Response:
    return json_response(ProcessConfigBody.of(process_registry(services).config))


@Operation(
    id="setProcessConfig",
    tag=TAG,
    summary="Replace the limits of processes, until the server ends",
    description="A default time-out above the longest one is lowered to it.",
    body=_CONTENT,
    responses={200: ResponseSpec("All limits", [_CONTENT])},
    errors=[*ERRORS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def set_config(request: Request, services: Services) -> Response:
    registry = process_registry(services)
    wanted = await json_body(request, services, ProcessConfigBody)
    wanted.default_run_timeout_ms = min(wanted.default_run_timeout_ms, wanted.max_run_timeout_ms)
    registry.config = ProcessConfig(**msgspec.structs.asdict(wanted))
    return json_response(ProcessConfigBody.of(registry.config))
