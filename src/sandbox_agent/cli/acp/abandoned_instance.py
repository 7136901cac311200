"""Deletes the instance of a remote agent whose front was killed.

A shell waits at the other end of a pipe, which costs 1 MB. When the pipe closes without the word that the
instance is deleted, it executes a Python that sends the DELETE. It runs in a session of its own and ignores
SIGHUP, SIGINT and SIGTERM.
"""

from __future__ import annotations

import os
import sys
import time

from sandbox_agent.cli.acp.server_connection import Server, ServerConnection, Unreachable
from sandbox_agent.runtime.package_path import PACKAGE_PARENT

# How long an unreachable server is tried. After that only its --idle-timeout ends the agent. A refused
# connection usually means that the server has ended, and its agents with it.
_LIMIT_S, _REFUSED_LIMIT_S = 120.0, 3.0
_PAUSE_S = 1.0
_CALL_TIMEOUT_S = 5.0
_SHELL = """cd /; trap '' HUP INT TERM
read -r word && [ "$word" = deleted ] && exit 0
exec "$@" """
_CLEANUP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from sandbox_agent.cli.acp.abandoned_instance import main; main()"
)
_TOKEN_VARIABLE = "SANDBOX_AGENT_TOKEN"  # noqa: S105 - the name of a variable


class AbandonedInstance:
    def __init__(self, server: Server, server_id: str) -> None:
        """Watch this process from now on."""
        self._server, self._server_id = server, server_id
        cleanup = [sys.executable, "-I", "-S", "-c", _CLEANUP, PACKAGE_PARENT, server.url, server_id]
        environment = {name: value for name, value in os.environ.items() if name != _TOKEN_VARIABLE}
        if server.token is not None:
            environment[_TOKEN_VARIABLE] = server.token
        read_end, self._pipe = os.pipe()
        self._pid = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", _SHELL, "sandbox-agent-acp-cleanup", *cleanup],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read_end, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        os.close(read_end)

    def delete_now(self) -> None:
        """Delete the instance; if the server cannot be reached, the other process goes on trying."""
        try:
            if not delete_instance(self._server, self._server_id, _CALL_TIMEOUT_S):
                return
        except Unreachable:
            return
        try:
            os.write(self._pipe, b"deleted\n")
        except BrokenPipeError:
            return  # It was killed.
        os.waitpid(self._pid, 0)


def delete_instance(server: Server, server_id: str, timeout_s: float) -> bool:
    """Whether the server has deleted the instance, or never had it. Raises Unreachable."""
    connection = ServerConnection(server)
    try:
        reply = connection.request("DELETE", server.instance_path(server_id), timeout_s=timeout_s)
    finally:
        connection.close()
    return reply.ok or bool(reply.kind)


def main() -> None:
    """Runs in the process that outlives the front."""
    server = Server(sys.argv[2], os.environ.get(_TOKEN_VARIABLE))
    started = time.monotonic()
    limit_s = _LIMIT_S
    while time.monotonic() < started + limit_s:
        try:
            if delete_instance(server, sys.argv[3], _CALL_TIMEOUT_S):
                return
            limit_s = _LIMIT_S
        except Unreachable as error:
            refused = isinstance(error.__cause__, ConnectionRefusedError)
            limit_s = _REFUSED_LIMIT_S if refused else _LIMIT_S
        time.sleep(_PAUSE_S)
