"""Starting a daemon: idempotent, verified by its health, and honest about why it did not work.

The token never appears on a command line: the server reads it from a file that only its owner can read.
"""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass

from sandbox_agent.cli.daemon import health
from sandbox_agent.cli.daemon.own_command import own_command
from sandbox_agent.cli.daemon.process_identity import ProcessIdentity
from sandbox_agent.cli.daemon.state import DaemonFiles
from sandbox_agent.cli.daemon.stop import stop_process
from sandbox_agent.cli.token_options import TOKEN_VARIABLE
from sandbox_agent.version import version

HEALTH_LIMIT_S = 15.0
_POLL_S = 0.05


class DaemonFailed(OSError):
    """The daemon did not come up; the text says why."""


@dataclass(frozen=True)
class Wish:
    """The daemon somebody wants."""

    host: str
    port: int
    token: str | None
    arguments: tuple[str, ...] = ()
    """Further arguments of the server."""
    upgrade: bool = False


@dataclass(frozen=True)
class Started:
    pid: int
    already: bool
    version: str | None


def start(wish: Wish) -> Started:
    """Make sure that the daemon runs; raises `DaemonFailed`."""
    files = DaemonFiles.of(wish.host, wish.port)
    with files.locked():
        living = files.living()
        if living is not None and wish.upgrade and files.version() != version():
            stop_process(living)
            living = None
        if living is not None:
            _wait_until_healthy(files, living, wish, files.token_of_living())
            return Started(living.pid, True, files.version())
        files.forget()
        return Started(_launch(files, wish).pid, False, version())


def _launch(files: DaemonFiles, wish: Wish) -> ProcessIdentity:
    words = [*own_command(), "server", "--host", wish.host, "--port", str(wish.port), *wish.arguments]
    words += ["--token-file", str(files.write_token(wish.token))] if wish.token else ["--no-token"]
    log = files.open_log()
    try:
        log_start = files.log.stat().st_size
        process = subprocess.Popen(  # noqa: S603 - our own program
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            # The server reads its token from the file. In its environment every agent would find it too.
            env={name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},
        )
    except OSError as error:
        files.forget()
        raise DaemonFailed(f"the daemon could not be started: {error}") from error
    finally:
        os.close(log)
    identity = ProcessIdentity.of(process.pid)
    deadline = time.monotonic() + HEALTH_LIMIT_S
    if identity is not None:
        files.write_running(identity, version())
    while process.poll() is None and time.monotonic() < deadline:
        if identity is not None and health.ask(wish.host, wish.port, wish.token).good:
            # Another server may have answered on a port that ours is about to fail to get.
            time.sleep(_POLL_S)
            if process.poll() is None:
                return identity
        time.sleep(_POLL_S)
    if process.poll() is None:
        process.terminate()
        process.wait()
        reason = f"it did not answer within {HEALTH_LIMIT_S:g} s"
    else:
        reason = f"it ended with exit code {process.returncode}"
    files.forget()
    raise DaemonFailed(f"the daemon did not start: {reason}\n{_log_since(files, log_start)}".rstrip())


def _wait_until_healthy(files: DaemonFiles, living: ProcessIdentity, wish: Wish, token: str | None) -> None:
    deadline = time.monotonic() + HEALTH_LIMIT_S
    while not health.ask(wish.host, wish.port, token).good:
        if not living.is_alive():
            raise DaemonFailed(f"the daemon has just ended; see {files.log}")
        if time.monotonic() > deadline:
            raise DaemonFailed(f"the daemon (pid {living.pid}) runs but does not answer; see {files.log}")
        time.sleep(_POLL_S)


def _log_since(files: DaemonFiles, position: int) -> str:
    with files.log.open("rb") as log:
        log.seek(position)
        return log.read(16 * 1024).decode("utf-8", "replace").strip()
