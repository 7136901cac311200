"""The error text of a failed command: the problem document of the server, or one sentence."""

from __future__ import annotations

import json

from sandbox_agent import errors as server_errors
from sandbox_agent.agents.catalog.catalog import CatalogError
from sandbox_agent.sdk import errors as client_errors


def describe(error: BaseException) -> str | None:
    """The text of an expected error; None for a fault of this program."""
    if isinstance(error, client_errors.APIStatusError) and error.problem:
        return json.dumps(error.problem, indent=2, ensure_ascii=False)
    if isinstance(error, client_errors.SpawnError) and error.stderr_tail:
        return f"sandbox-agent: {error}\n{error.stderr_tail}"
    expected = (client_errors.SandboxAgentError, server_errors.SandboxAgentError, CatalogError, OSError)
    return f"sandbox-agent: {error}" if isinstance(error, expected) else None
