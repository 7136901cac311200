"""What can go wrong with a native program, as JSON-RPC errors a client can tell apart by `data.reason`."""

from __future__ import annotations

from typing import Any

from acp import RequestError

INTERNAL = -32603
AUTH_REQUIRED = -32000
INVALID_PARAMS = -32602
_AUTH_WORDS = ("authentication", "unauthorized", "invalid api key", "api key", "401", "/login")


def program_missing(agent: str, program: str, error: OSError) -> RequestError:
    detail = error.strerror or str(error)
    data = {"reason": "native_missing", "program": program}
    return RequestError(INTERNAL, f"{agent} cannot be started: {detail}", data)


def program_ended(agent: str, exit_code: int | None, stderr: str) -> RequestError:
    """The program went away in the middle of something."""
    how = f"exit code {exit_code}" if exit_code is None or exit_code >= 0 else f"signal {-exit_code}"
    data = {"reason": "native_exited", "exitCode": exit_code, "stderr": stderr}
    last_words = f": {stderr.splitlines()[-1][:500]}" if stderr else ""
    return RequestError(INTERNAL, f"{agent} ended unexpectedly ({how}){last_words}", data)


def needs_its_server(agent: str, reason: str, stderr: str) -> RequestError:
    """A version that cannot do without its vendor's server, and does not get along with it."""
    message = (
        f"this version of {agent} runs its agent on the vendor's server and failed there: {reason}. It needs "
        "a network and a valid key; the catalogue's version runs its agent here: install it with "
        f"`sandbox-agent install-agent {agent}-native --reinstall`"
    )
    return RequestError(INTERNAL, message, {"reason": "native_needs_its_server", "stderr": stderr})


def program_silent(agent: str, what: str, seconds: float) -> RequestError:
    data = {"reason": "native_silent", "waitedFor": what, "seconds": seconds}
    return RequestError(INTERNAL, f"{agent} said nothing for {seconds:.0f} s ({what})", data)


def turn_failed(agent: str, message: str, detail: Any = None) -> RequestError:
    """The program says that the turn failed; a missing login gets the code ACP has for it."""
    if any(word in message.lower() for word in _AUTH_WORDS):
        return RequestError(AUTH_REQUIRED, "Authentication required", {"details": message})
    return RequestError(INTERNAL, message, {"reason": "native_error", "agent": agent, "details": detail})


def refused(agent: str, method: str, error: Any) -> RequestError:
    """The program answered a request of ours with an error."""
    message = error.get("message", str(error)) if isinstance(error, dict) else str(error)
    return turn_failed(agent, f"{agent} refused {method}: {message}", error)


def unknown_session(session_id: str) -> RequestError:
    return RequestError(INVALID_PARAMS, f"no session {session_id}", {"sessionId": session_id})


def invalid(message: str) -> RequestError:
    return RequestError(INVALID_PARAMS, message)
