"""Starting a daemon: idempotent, verified by a health check; a failure reports the daemon's own error.

The token is on no command line: the server reads it from a file that only its owner can read.
"""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass

from sandbox_agent.cli.daemon.daemon_files import DaemonFiles
from sandbox_agent.cli.daemon.health import check_health
from sandbox_agent.cli.daemon.process_identity import ProcessIdentity
from sandbox_agent.cli.daemon.stop import stop_process
from sandbox_agent.cli.options.token_options import TOKEN_VARIABLE
from sandbox_agent.runtime.server_executable import server_command
from sandbox_agent.version import version

HEALTH_LIMIT_S = 15.0
_POLL_S = 0.05


class DaemonFailed(OSError):
    """The daemon did not start; the text says why."""


@dataclass(frozen=True)
class DaemonOptions:
    """The daemon to start."""

    host: str
    port: int
    token: str | None
    arguments: tuple[str, ...] = ()
    """Further arguments of the server."""
    upgrade: bool = False


@dataclass(frozen=True)
class StartResult:
    pid: int
    already_running: bool
    version: str | None


def start(options: DaemonOptions) -> StartResult:
    """Start the daemon unless it runs. Raises `DaemonFailed`."""
    files = DaemonFiles.of(options.host, options.port)
    with files.locked():
        running = files.running()
        if running is not None and options.upgrade and files.version() != version():
            stop_process(running)
            running = None
        if running is not None:
            _wait_until_healthy(files, running, options, files.running_token())
            return StartResult(running.pid, True, files.version())
        files.clear()
        return StartResult(_launch(files, options).pid, False, version())


def _launch(files: DaemonFiles, options: DaemonOptions) -> ProcessIdentity:
    command = [
        *server_command(),
        "server",
        "--host",
        options.host,
        "--port",
        str(options.port),
        *options.arguments,
    ]
    command += ["--token-file", str(files.write_token(options.token))] if options.token else ["--no-token"]
    log = files.open_log()
    try:
        log_start = files.log.stat().st_size
        process = subprocess.Popen(  # noqa: S603 - the program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            # The server reads its token from the file. From its environment agents would inherit it.
            env={name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},
        )
    except OSError as error:
        files.clear()
        raise DaemonFailed(f"the daemon could not be started: {error}") from error
    finally:
        os.close(log)
    identity = ProcessIdentity.of(process.pid)
    deadline = time.monotonic() + HEALTH_LIMIT_S
    if identity is not None:
        files.write_running(identity, version())
    while process.poll() is None and time.monotonic() < deadline:
        if identity is not None and check_health(options.host, options.port, options.token).is_healthy:
            # Another server may have answered on the port, which the new one is about to fail to bind.
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
    files.clear()
    raise DaemonFailed(f"the daemon did not start: {reason}\n{_log_since(files, log_start)}".rstrip())


def _wait_until_healthy(
    files: DaemonFiles, running: ProcessIdentity, options: DaemonOptions, token: str | None
) -> None:
    deadline = time.monotonic() + HEALTH_LIMIT_S
    while not check_health(options.host, options.port, token).is_healthy:
        if not running.is_alive():
            raise DaemonFailed(f"the daemon has just ended; see {files.log}")
        if time.monotonic() > deadline:
            raise DaemonFailed(f"the daemon (pid {running.pid}) runs but does not answer; see {files.log}")
        time.sleep(_POLL_S)


def _log_since(files: DaemonFiles, position: int) -> str:
    with files.log.open("rb") as log:
        log.seek(position)
        return log.read(16 * 1024).decode("utf-8", "replace").strip()
