"""Responses of `/v1/processes`."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Mapping, Sequence
from os import fspath
from typing import Any, Literal

import msgspec

from sandbox_agent.sdk.errors import CommandFailedError
from sandbox_agent.sdk.transport.http_api import RemotePath

Command = str | Sequence[str]
"""A text for the shell, or a program with its arguments."""
_SIGNALLED = 128


class ProcessInfo(msgspec.Struct, rename="camel", frozen=True):
    """One process of the sandbox that a user has started."""

    id: str
    command: str
    args: list[str]
    tty: bool
    status: Literal["running", "exited"]
    created_at_ms: int
    cwd: str | None = None
    pid: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    """The signal that ended it, such as SIGKILL."""
    exited_at_ms: int | None = None

    @property
    def command_line(self) -> str:
        """Program and arguments as one line, quoted for a shell."""
        return shlex.join([self.command, *self.args])


class ProcessResult(msgspec.Struct, rename="camel", frozen=True):
    """What `processes.run` returns."""

    exit_code: int | None
    """None if a signal or the time limit has ended it."""
    timed_out: bool
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    duration_ms: int
    signal: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it has ended with exit code 0."""
        return self.exit_code == 0

    def check(self) -> ProcessResult:
        """This result; raises `CommandFailedError` unless it is ok."""
        if self.ok:
            return self
        if self.timed_out:
            reason = f"was stopped after {self.duration_ms / 1000:.1f} s"
        else:
            reason = f"ended with {self.signal or f'exit code {self.exit_code}'}"
        tail = self.stderr.strip()[-2000:]
        raise CommandFailedError(f"the command {reason}" + (f": {tail}" if tail else ""), result=self)


class ProcessOutput(msgspec.Struct, frozen=True):
    """A piece of output, as it was read from the process."""

    sequence: int
    stream: Literal["stdout", "stderr", "pty"]
    data: bytes
    time_ms: int
    missed: int = 0
    """How many pieces before this one are no longer kept."""


def shell_exit_code(code: int | None, signal_name: str | None) -> int:
    """The exit code that a shell tells of a command: for a signal 128 plus its number."""
    if code is not None:
        return code
    number = signal.Signals.__members__.get(signal_name or "")
    return _SIGNALLED + number if number is not None else 1


def launch_body(command: Command, cwd: RemotePath | None, env: Mapping[str, str] | None) -> dict[str, Any]:
    """The fields that `create` and `run` share. A text is run by the shell of the sandbox."""
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    if not argv:
        raise ValueError("a command needs at least the name of a program")
    body: dict[str, Any] = {"command": argv[0], "args": argv[1:]}
    if cwd is not None:
        body["cwd"] = fspath(cwd)
    if env:
        body["env"] = dict(env)
    return body
