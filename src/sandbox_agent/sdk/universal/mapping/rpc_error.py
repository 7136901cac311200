"""JSON-RPC errors as the data of universal errors."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.errors import PROBLEM_PREFIX
from sandbox_agent.sdk.universal.event_data import ErrorData
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text, json_text
from sandbox_agent.sdk.universal.meta import product_meta


def code_text(code: Any) -> str:
    return code if isinstance(code, str) else json_text(code)


def read_rpc_error(error: Any) -> tuple[ErrorData, bool]:
    """A JSON-RPC error, and whether it is synthetic: a problem of the server inside it is."""
    fields = as_dict(error)
    message = as_text(fields.get("message")) or json_text(error)
    data, code = fields.get("data"), fields.get("code")
    kept = product_meta(data)
    problem = as_text(as_dict(data).get("type")) or ""
    if problem.startswith(PROBLEM_PREFIX):
        return ErrorData(message, problem.removeprefix(PROBLEM_PREFIX), data), True
    return ErrorData(
        message, None if code is None else code_text(kept.get("code", code)), kept.get("details", data)
    ), False
