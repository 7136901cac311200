"""Bodies of the process endpoints, in the order of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

if TYPE_CHECKING:
    from sandbox_agent.terminals.captured_run import CapturedRun
    from sandbox_agent.terminals.managed_process import ManagedProcess

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Cells = Annotated[int, Meta(ge=1, le=65535)]
Owner = Literal["user", "desktop", "system"]


class ProcessCreateRequest(msgspec.Struct, rename="camel", kw_only=True):
    command: str
    """Looked up in PATH; no shell."""
    args: list[str] = []
    cwd: str | None = None
    env: dict[str, str] = {}
    tty: bool = False
    interactive: bool = False
    """Kept and shown; without effect."""
    cols: Cells = 80
    rows: Cells = 24


class ProcessInfo(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    command: str
    args: list[str]
    cwd: str | UnsetType = UNSET
    tty: bool
    interactive: bool
    owner: Owner = "user"
    status: Literal["running", "exited"]
    pid: int | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    signal: str | UnsetType = UNSET
    created_at_ms: int
    exited_at_ms: int | UnsetType = UNSET

    @classmethod
    def of(cls, managed: ManagedProcess) -> ProcessInfo:
        info = cls(
            id=managed.id,
            command=managed.command,
            args=list(managed.args),
            cwd=UNSET if managed.cwd is None else managed.cwd,
            tty=managed.is_terminal,
            interactive=managed.interactive,
            status="running",
            created_at_ms=managed.created_at_ms,
        )
        if managed.exit is None:
            info.pid = managed.process.pid
            return info
        info.status = "exited"
        info.exit_code = UNSET if managed.exit.code is None else managed.exit.code
        info.signal = UNSET if managed.exit.signal is None else managed.exit.signal
        info.exited_at_ms = UNSET if managed.exited_at_ms is None else managed.exited_at_ms
        return info


class ProcessList(msgspec.Struct):
    processes: list[ProcessInfo]


class ProcessRunRequest(msgspec.Struct, rename="camel", kw_only=True):
    command: str
    args: list[str] = []
    cwd: str | None = None
    env: dict[str, str] = {}
    timeout_ms: Count | None = None
    """0 is the default too."""
    max_output_bytes: Count | None = None


class ProcessRunResponse(msgspec.Struct, rename="camel", kw_only=True):
    exit_code: int | None
    timed_out: bool
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    duration_ms: int
    signal: str | UnsetType = UNSET

    @classmethod
    def of(cls, run: CapturedRun) -> ProcessRunResponse:
        exit = None if run.timed_out else run.exit
        return cls(
            exit_code=exit.code if exit is not None else None,
            timed_out=run.timed_out,
            stdout=run.text("stdout"),
            stderr=run.text("stderr"),
            stdout_truncated=run.truncated["stdout"],
            stderr_truncated=run.truncated["stderr"],
            duration_ms=run.duration_ms,
            signal=exit.signal if exit is not None and exit.signal is not None else UNSET,
        )


class ProcessInputRequest(msgspec.Struct, kw_only=True):
    data: str = ""
    encoding: Literal["base64", "utf8", "text"] | None = None
    """base64 if absent."""
    close: bool = False
    """Close the input after `data`; not for terminals."""


class ProcessInputResponse(msgspec.Struct, rename="camel"):
    bytes_written: int


class ProcessLogEntry(msgspec.Struct, rename="camel", kw_only=True):
    sequence: int
    stream: Literal["stdout", "stderr", "pty"]
    timestamp_ms: int
    data: str
    encoding: Literal["base64"] = "base64"


class ProcessLogEvent(msgspec.Struct):
    """A server-sent event of a followed log."""

    event: Literal["log", "gap", "exit"]
    data: str
    """JSON: a `ProcessLogEntry`, a `ProcessLogGap`, or `exitCode` and `signal`."""
    id: str | UnsetType = UNSET


class ProcessLogGap(msgspec.Struct):
    """Entries before `oldest` are not in memory any more; `follow` reads older ones from disk."""

    oldest: int
    newest: int


class ProcessLogsResponse(msgspec.Struct, rename="camel", kw_only=True):
    process_id: str
    stream: Literal["stdout", "stderr", "combined", "pty"]
    entries: list[ProcessLogEntry]
    gap: ProcessLogGap | UnsetType = UNSET


class ProcessTerminalSize(msgspec.Struct):
    cols: Cells
    rows: Cells


class TerminalTicket(msgspec.Struct, rename="camel"):
    ticket: str
    expires_in_ms: int
