"""The limits of processes, read and changed while the server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import errors
from sandbox_agent.http.endpoints.processes.requested_process import ERRORS, TAG, process_registry
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec
from sandbox_agent.terminals.process_config import ProcessConfig

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_CONTENT = Content(
    ProcessConfig,
    ProcessConfig(
        max_concurrent_processes=64,
        default_run_timeout_ms=30_000,
        max_run_timeout_ms=300_000,
        max_output_bytes=1_048_576,
        max_log_bytes_per_process=10_485_760,
        max_input_bytes_per_request=65_536,
    ),
)


@Operation(
    id="getProcessConfig",
    tag=TAG,
    summary="The limits of processes",
    responses={200: ResponseSpec("All limits", [_CONTENT])},
    errors=ERRORS,
)
async def get_config(request: Request, services: Services) -> Response:
    return json_response(process_registry(services).config)


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
    registry.config = (await json_body(request, services, ProcessConfig)).consistent()
    return json_response(registry.config)
