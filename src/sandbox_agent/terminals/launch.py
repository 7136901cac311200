"""What a user wants to start: command, directory, environment, terminal; and why it cannot be started."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest, OutOfDescriptors, SandboxAgentError, StreamError

if TYPE_CHECKING:
    from collections.abc import Mapping

# The terminal that the web page and nearly all others emulate.
_TERM = "xterm-256color"
# Errors of the machine; all others are errors of the request.
_MACHINE_ERRORS = (errno.EAGAIN, errno.ENOMEM, errno.EIO)
# The exit codes with which a shell reports a command that it cannot start.
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126


class TerminalSize:
    __slots__ = ("cols", "rows")

    def __init__(self, cols: int = 80, rows: int = 24) -> None:
        self.cols = cols
        self.rows = rows


class Launch:
    __slots__ = ("args", "command", "cwd", "env", "terminal")

    def __init__(
        self,
        command: str,
        args: tuple[str, ...],
        cwd: str,
        env: Mapping[str, str],
        inherited: Mapping[str, str],
        terminal: TerminalSize | None = None,
    ) -> None:
        """`env` is added to `inherited`. Raises InvalidRequest."""
        if not command.strip():
            raise InvalidRequest("command must not be empty")
        for text in (command, *args, cwd, *env, *env.values()):
            _check_text(text)
        if any(not name or "=" in name for name in env):
            raise InvalidRequest("the name of a variable is empty or contains '='")
        self.command = command
        self.args = args
        self.cwd = cwd
        self.terminal = terminal
        default = {"TERM": _TERM} if terminal is not None else {}
        self.env = {**inherited, **default, **env}

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.command, *self.args)

    def check(self) -> None:
        """Raise OSError if the program cannot be executed: a shell that starts it would not report why."""
        found = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        for path in self._candidates():
            try:
                is_file = stat.S_ISREG(os.stat(path).st_mode)
            except OSError as error:
                if error.errno == errno.EACCES:
                    found = error
                continue
            if is_file and os.access(path, os.X_OK):
                return
            found = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise found

    def _candidates(self) -> list[str]:
        if "/" in self.command:
            return [os.path.join(self.cwd, self.command)]
        directories = (self.env.get("PATH") or os.defpath).split(os.pathsep)
        return [os.path.join(self.cwd, directory, self.command) for directory in directories]

    def error(self, error: Exception) -> SandboxAgentError:
        """What a client is told of a failed start."""
        if isinstance(error, KeyError):
            return StreamError(f"failed to start the process: {error.args[0]}")
        if not isinstance(error, OSError):
            return InvalidRequest(f"failed to start the process: {error}")
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return OutOfDescriptors()
        if error.errno in _MACHINE_ERRORS:
            return StreamError(f"failed to start the process: {error.strerror}")
        reason = error.strerror or error
        if not os.path.isdir(self.cwd):
            return InvalidRequest(f"failed to start directory '{self.cwd}': {reason}")
        code = _NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE
        return InvalidRequest(f"failed to start command '{self.command}': {reason}", {"exitCode": code})


def _check_text(text: str) -> None:
    if "\0" in text:
        raise InvalidRequest("command, arguments, directory and variables must not contain NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise InvalidRequest("command, arguments, directory and variables must be valid Unicode") from None
