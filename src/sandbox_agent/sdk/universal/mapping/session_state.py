"""The start and the end of a session.

`session.started` and `session.ended` come once per start of the session. A restored session starts again,
with `metadata.restored`.
"""

from __future__ import annotations

from typing import Any, cast, get_args

from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import (
    EndReason,
    EventSource,
    SessionEndedData,
    SessionStartedData,
    StderrOutput,
)
from sandbox_agent.sdk.universal.json_reading import as_dict, as_int, as_text
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.meta import connection_id_of, product_meta

STARTING_METHODS = ("session/new", "session/load", "session/resume", "session/fork")
_HEAD_LINES = 20
_TAIL_LINES = 50


class SessionState(Struct):
    """Whether the session is live."""

    starts: int = 0
    live: bool = False
    ended: bool = False
    loading: bool = False


class SessionStarts:
    """Emits the starts and ends of the session."""

    def __init__(self, out: Emitter, agent: str | None, state: SessionState) -> None:
        self._out = out
        self._agent = agent
        self.state = state

    def request(self, method: str) -> None:
        """Map a request of the client that starts the session."""
        self.state.loading = method == "session/load"
        self.state.live = False

    def started(
        self, method: str, params: dict[str, Any], result: dict[str, Any], *, synthetic: bool
    ) -> None:
        """The agent has started the session; answer and notification count once."""
        native = as_text(result.get("sessionId")) or as_text(params.get("sessionId"))
        if synthetic:
            self.state.loading = False
        self._out.state.native_session_id = native or self._out.state.native_session_id
        if self.state.live:
            return
        self.state.live, self.state.ended = True, False
        metadata: dict[str, Any] = {
            "agent": self._agent or as_text(product_meta(params).get("agent")),
            "cwd": as_text(params.get("cwd")),
            "modes": result.get("modes"),
            "configOptions": result.get("configOptions"),
            "method": method,
        }
        if (connection := connection_id_of({"params": params})) is not None:
            metadata["connectionId"] = connection
        if self.state.starts or method in ("session/load", "session/resume"):
            metadata["restored"] = True
        self.state.starts += 1
        self._out.emit("session.started", SessionStartedData(metadata), synthetic=synthetic)

    def end(self, data: SessionEndedData, *, synthetic: bool) -> None:
        """The session has ended."""
        self.state.live, self.state.ended = False, True
        self._out.emit("session.ended", data, synthetic=synthetic)


def ended_data(params: dict[str, Any], *, by_client: bool) -> SessionEndedData:
    """The data of `_sandboxagent/session/ended`, flat or under `data`; details only for an error."""
    payload = {**params, **as_dict(params.get("data"))}
    reason, by = payload.get("reason"), payload.get("terminated_by")
    if reason not in get_args(EndReason):
        reason = "terminated" if by_client else "completed"
    if by not in get_args(EventSource):
        by = "daemon" if by_client else "agent"
    if reason != "error":
        return SessionEndedData(reason=cast(EndReason, reason), terminated_by=cast(EventSource, by))
    return SessionEndedData(
        reason="error",
        terminated_by=cast(EventSource, by),
        message=as_text(payload.get("message")),
        exit_code=as_int(payload.get("exit_code")),
        stderr=_read_stderr(payload.get("stderr")),
    )


def exit_data(params: dict[str, Any]) -> SessionEndedData:
    """The data of `_adapter/agent_exited`; `signal` and `stderr` are present if known."""
    if params.get("success") is True:
        return SessionEndedData(reason="completed", terminated_by="agent")
    signal = params.get("signal")
    return SessionEndedData(
        reason="error",
        terminated_by="agent",
        message=f"the agent was ended by {signal}" if isinstance(signal, str | int) and signal else None,
        exit_code=as_int(params.get("code")),
        stderr=_read_stderr(params.get("stderr")),
    )


def stderr_output(text: str) -> StderrOutput | None:
    """Stderr: whole if it is short, else its first 20 and last 50 lines."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        return None
    if len(lines) <= _HEAD_LINES + _TAIL_LINES:
        return StderrOutput(head=text, truncated=False, total_lines=len(lines))
    return StderrOutput(
        head="\n".join(lines[:_HEAD_LINES]),
        tail="\n".join(lines[-_TAIL_LINES:]),
        truncated=True,
        total_lines=len(lines),
    )


def _read_stderr(value: Any) -> StderrOutput | None:
    if isinstance(value, str):
        return stderr_output(value)
    if not isinstance(value, dict):
        return None
    return StderrOutput(
        head=as_text(value.get("head")),
        tail=as_text(value.get("tail")),
        truncated=value.get("truncated") is True,
        total_lines=as_int(value.get("total_lines")),
    )
