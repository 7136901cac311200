"""Messages that the SDK adds to a session's history, for facts that no ACP message states.

A broken stream, a terminated session, an agent that died: each is a JSON-RPC notification, stored with
sender `client` and fed to the mapper like any other message. So the events derived from a store equal those
that were seen live.
"""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.universal.event_data import EndReason, EventSource
from sandbox_agent.sdk.universal.json_reading import sha256


def session_ended(
    reason: EndReason = "terminated",
    terminated_by: EventSource = "daemon",
    *,
    message: str | None = None,
    exit_code: int | None = None,
    stderr: str | None = None,
) -> dict[str, Any]:
    """The session ended; the last three parameters are used only when `reason` is `error`."""
    return _note(
        "_sandboxagent/session/ended",
        reason=reason,
        terminated_by=terminated_by,
        message=message,
        exit_code=exit_code,
        stderr=stderr,
    )


def agent_exited(
    success: bool, code: int | None = None, *, signal: str | None = None, stderr: str | None = None
) -> dict[str, Any]:
    """The agent process ended; `signal` and `stderr` come from the server's 502 problem."""
    return _note("_adapter/agent_exited", success=success, code=code, signal=signal, stderr=stderr)


def failure(message: str, code: str | None, details: Any = None) -> dict[str, Any]:
    """The transport failed; `code` is the last part of the problem's URN, such as `timeout`."""
    return _note("_sandboxagent/error", message=message, code=code, details=details)


def stream_gap(oldest: int | None = None, newest: int | None = None) -> dict[str, Any]:
    """Events were lost between two reads of the stream."""
    return failure(
        "events were lost: the stream no longer has everything since the last one read",
        "replay_gap",
        {"oldest": oldest, "newest": newest},
    )


def unparsed(error: str, location: str, raw: str | bytes) -> dict[str, Any]:
    """Output that is not a message; only a hash of the raw text enters the history."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return _note("_sandboxagent/agent/unparsed", error=error, location=location, raw_hash=sha256(text))


def _note(method: str, **params: Any) -> dict[str, Any]:
    present = {key: value for key, value in params.items() if value is not None}
    return {"jsonrpc": "2.0", "method": method, "params": present}
