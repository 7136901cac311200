"""Run git for reading, so that nothing in the repository is executed.

The configuration of a repository can name programs: hooks, the file system monitor, external diffs, text
conversions, filters, signature checks, and transports of remotes from which missing objects are fetched. All
of them are switched off by the environment and by the arguments of each command; filters have names of their
own and are looked up first (`_disabled_filters`). Submodules have configurations of their own and are never
entered. Git takes no locks and writes nothing.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_agent.errors import InvalidRequest, StreamError, Timeout
from sandbox_agent.runtime.process_starts import start_lock

_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # git 2.44
    "GIT_ALLOW_PROTOCOL": "none",  # older ones: a fetch of missing objects finds no allowed transport
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_SETTINGS = {
    "safe.directory": "*",  # The server may run as another user than the owner of the repository.
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.quotePath": "false",
    "core.bigFileThreshold": "4m",  # Larger files are reported as binary instead of compared.
    "log.mailmap": "false",
    "log.showSignature": "false",
    "status.showUntrackedFiles": "all",
    "diff.ignoreSubmodules": "dirty",
    "diff.orderFile": os.devnull,
    "diff.autoRefreshIndex": "false",  # It would be written; `diff` leaves out files that were only touched.
}
_FILTER_COMMANDS = ("clean", "smudge", "process")
_ERROR_BYTES = 8192


@dataclass(frozen=True)
class GitLimits:
    """Time and output of one command."""

    timeout_s: float = 20.0
    max_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True)
class GitOutput:
    data: bytes
    is_truncated: bool = False
    """The limit on the output was reached; git was stopped there."""


class GitFailed(Exception):
    """Git ended with an error; the text is what it wrote to stderr."""


class GitCommand:
    """Git in one directory. Blocks: call it in a thread."""

    def __init__(self, directory: str, limits: GitLimits, user: Mapping[str, Any], ceiling: str) -> None:
        """`user` are arguments of Popen for another user; `ceiling` is where the search for `.git` ends."""
        self._directory = directory
        self._limits = limits
        self._user = user
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CEILING_DIRECTORIES": ceiling,
            **_ENVIRONMENT,
        }
        self._settings: dict[str, str] | None = None

    def stay_in(self, git_directory: str, work_tree: str) -> None:
        """Use this repository from now on, whatever `.git` and its configuration name meanwhile."""
        self._environment |= {"GIT_DIR": git_directory, "GIT_WORK_TREE": work_tree}

    def run(self, *arguments: str) -> GitOutput:
        """Raises GitFailed, Timeout, or StreamError if git cannot be started."""
        if self._settings is None:
            self._settings = {**_SETTINGS, **self._disabled_filters()}
        return self._run(arguments, self._settings)

    def configuration_files(self) -> list[str]:
        """The files that configure the repository, with those that they include; call it after `stay_in`."""
        listed = self._run(("config", "--list", "--show-origin", "--name-only", "-z"), _SETTINGS).data
        origins = {field.decode("utf-8", "surrogateescape") for field in listed.split(b"\0")[::2]}
        return [origin.removeprefix("file:") for origin in origins if origin.startswith("file:")]

    def _disabled_filters(self) -> dict[str, str]:
        """Empty commands for every filter that the repository configures."""
        listed = self._run(("config", "--list", "--name-only", "-z"), _SETTINGS).data
        names = {
            key.decode("utf-8", "surrogateescape").rpartition(".")[0]
            for key in listed.split(b"\0")
            if key.startswith(b"filter.")
        }
        return {f"{name}.{command}": "" for name in names for command in _FILTER_COMMANDS} | {
            f"{name}.required": "false" for name in names
        }

    def _run(self, arguments: Sequence[str], settings: Mapping[str, str]) -> GitOutput:
        # Not `-c`: the name of a filter may contain `=`.
        environment = {**self._environment, "GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings.items()):
            environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        try:
            with start_lock:
                process = subprocess.Popen(  # noqa: S603 - the arguments are made here
                    ["git", "--no-pager", *arguments],  # noqa: S607 - git of the server's PATH
                    cwd=self._directory,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    # A group of its own, but not a session: the server ends unknown children in others.
                    process_group=0,
                    **self._user,
                )
        except FileNotFoundError:
            raise StreamError("git is not installed") from None
        except ValueError as error:  # a NUL byte
            raise InvalidRequest(f"git: {error}") from None
        except (OSError, subprocess.SubprocessError) as error:
            raise StreamError(f"git cannot be started: {error}") from error
        with process:
            return self._finish(process)

    def _finish(self, process: subprocess.Popen[bytes]) -> GitOutput:
        is_truncated = True
        try:
            output, errors, is_truncated = self._read(process)
        finally:
            if is_truncated:
                _kill(process)
        if process.wait() != 0 and not is_truncated:
            raise GitFailed(errors.decode("utf-8", "replace").strip())
        return GitOutput(output, is_truncated)

    def _read(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes, bool]:
        assert process.stdout is not None and process.stderr is not None  # noqa: S101 - both are pipes
        deadline = time.monotonic() + self._limits.timeout_s
        output, errors = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, output)
            selector.register(process.stderr, selectors.EVENT_READ, errors)
            while selector.get_map():
                left = deadline - time.monotonic()
                ready = selector.select(max(left, 0))
                if not ready and left <= 0:
                    raise Timeout(f"git did not finish within {self._limits.timeout_s:g} s")
                for key, _ in ready:
                    data = os.read(key.fd, 65536)
                    if not data:
                        selector.unregister(key.fileobj)
                    key.data.extend(data)
                del errors[_ERROR_BYTES:]
                if len(output) > self._limits.max_bytes:
                    return bytes(output[: self._limits.max_bytes]), b"", True
        return bytes(output), bytes(errors), False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and what it may have started, if it still runs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass  # All of the group have exited.


def refuse_option(text: str, name: str) -> str:
    """A revision of a request; one that git would take for an option is refused."""
    if text.startswith("-") or "\0" in text:
        raise InvalidRequest(f"'{name}' is not a revision")
    return text
