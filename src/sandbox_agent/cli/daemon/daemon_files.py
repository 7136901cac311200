"""The files of a daemon: `<data>/daemon/daemon-HOST-PORT.*`, dots of the host written as dashes.

`.pid` has the process id and, on a second line, its start time; `.version` the running version; `.token` its
token, readable by its owner only; `.log` its output; `.lock` is held while it is started or stopped.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox_agent import settings
from sandbox_agent.cli.daemon.process_identity import ProcessIdentity

_OWNER_ONLY = 0o600
_LOG_LIMIT_BYTES = 10 * 1024 * 1024
_LOOPBACK = {"localhost": "127.0.0.1"}


@dataclass(frozen=True)
class DaemonFiles:
    stem: Path

    @classmethod
    def of(cls, host: str, port: int) -> DaemonFiles:
        name = _LOOPBACK.get(host, host).strip("[]").replace(".", "-").replace(":", "-")
        return cls(Path(settings.default_data_directory()) / "daemon" / f"daemon-{name}-{port}")

    def path(self, kind: str) -> Path:
        return self.stem.with_name(f"{self.stem.name}.{kind}")

    @property
    def log(self) -> Path:
        return self.path("log")

    @property
    def token(self) -> Path:
        return self.path("token")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, so that one process at a time starts or stops the daemon."""
        self.stem.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def recorded(self) -> ProcessIdentity | None:
        """The process in the pid file, running or not; None without a valid pid file."""
        try:
            return ProcessIdentity.parse(self.path("pid").read_text())
        except (OSError, UnicodeDecodeError):
            return None

    def running(self) -> ProcessIdentity | None:
        """The daemon, if it runs."""
        recorded = self.recorded()
        return recorded if recorded is not None and recorded.is_alive() else None

    def has_pid_file(self) -> bool:
        return self.path("pid").exists()

    def version(self) -> str | None:
        try:
            return self.path("version").read_text().strip()
        except OSError:
            return None

    def running_token(self) -> str | None:
        """The token of the running daemon; None if it has none or does not run."""
        if self.running() is None:
            return None
        try:
            return self.token.read_text(encoding="utf-8").strip() or None
        except OSError:
            return None

    def write_token(self, token: str) -> Path:
        write_private(self.token, token + "\n")
        return self.token

    def write_running(self, identity: ProcessIdentity, version: str) -> None:
        write_private(self.path("version"), version + "\n")
        write_private(self.path("pid"), str(identity))

    def clear(self) -> None:
        """Remove everything but the log."""
        for kind in ("pid", "version", "token"):
            self.path(kind).unlink(missing_ok=True)

    def open_log(self) -> int:
        """Open the log for appending; a log over 10 MiB is renamed to `.log.1` first."""
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT_BYTES:
            os.replace(self.log, self.path("log.1"))
        return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _OWNER_ONLY)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
