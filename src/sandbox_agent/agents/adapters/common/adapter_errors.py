"""Faults of a vendor's program as JSON-RPC errors; clients tell them apart by `data.reason`."""

from __future__ import annotations

import re
from typing import Any

from acp import RequestError

from sandbox_agent.jsonrpc_error_codes import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS

_AUTH_WORDS = re.compile(r"authentication|unauthorized|api key|\b401\b|/login", re.IGNORECASE)


def program_missing(agent: str, program: str, error: OSError) -> RequestError:
    detail = error.strerror or str(error)
    data = {"reason": "native_missing", "program": program}
    return RequestError(INTERNAL_ERROR, f"{agent} cannot be started: {detail}", data)


def program_ended(agent: str, exit_code: int | None, stderr: str) -> RequestError:
    """The program exited during a request or a turn."""
    if exit_code is None:
        how = "exit code unknown"
    else:
        how = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
    data = {"reason": "native_exited", "exitCode": exit_code, "stderr": stderr}
    last_line = f": {stderr.splitlines()[-1][:500]}" if stderr else ""
    return RequestError(INTERNAL_ERROR, f"{agent} ended unexpectedly ({how}){last_line}", data)


def vendor_server_failed(agent: str, reason: str, stderr: str) -> RequestError:
    """A version that runs its agent on the vendor's server, which refused or failed."""
    message = (
        f"this version of {agent} runs its agent on the vendor's server and failed there: {reason}. It needs "
        "a network and a valid key; the catalogue's version runs its agent here: install it with "
        f"`sandbox-agent install-agent {agent}-native --reinstall`"
    )
    return RequestError(INTERNAL_ERROR, message, {"reason": "native_needs_its_server", "stderr": stderr})


def program_silent(agent: str, what: str, seconds: float) -> RequestError:
    data = {"reason": "native_silent", "waitedFor": what, "seconds": seconds}
    return RequestError(INTERNAL_ERROR, f"{agent} said nothing for {seconds:.0f} s ({what})", data)


def turn_failed(agent: str, message: str, detail: Any = None) -> RequestError:
    """The program reported that the turn failed; a missing login gets ACP's code for it."""
    if _AUTH_WORDS.search(message):
        return RequestError(AUTH_REQUIRED, "Authentication required", {"details": message})
    data = {"reason": "native_error", "agent": agent, "details": detail}
    return RequestError(INTERNAL_ERROR, message, data)


def unreadable_result(agent: str, error: Exception, message: Any) -> RequestError:
    """The message that ends a turn does not have the known form."""
    return turn_failed(agent, f"the end of the turn cannot be read: {error}", message)


def request_refused(agent: str, method: str, error: Any) -> RequestError:
    """The program answered a request of the adapter with an error."""
    message = error.get("message", str(error)) if isinstance(error, dict) else str(error)
    return turn_failed(agent, f"{agent} refused {method}: {message}", error)


def unknown_session(session_id: str) -> RequestError:
    return RequestError(INVALID_PARAMS, f"no session {session_id}", {"sessionId": session_id})


def invalid_params(message: str) -> RequestError:
    return RequestError(INVALID_PARAMS, message)
