"""A server whose token flags a test chooses."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from tests.support.server_process import ServerProcess, server_command


def started(
    start_server: Callable[..., ServerProcess], arguments: list[str], settings: dict[str, str] | None = None
) -> ServerProcess:
    """A server whose token flags are exactly `arguments`."""
    server = start_server(wait=False, token=None, settings=settings)
    server.stop()
    with server.log_path.open("ab") as log:
        server.process = subprocess.Popen(
            [*server_command(), "server", "--port", str(server.port), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=server.environment,
            cwd=server.home,
        )
    server.pid = server.process.pid
    return server
