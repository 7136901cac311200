"""The process that a request names or wants to start; for all process endpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent import errors
from sandbox_agent.bridge.process.inherited_environment import inherited_environment
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.openapi.operation import PathParameter
from sandbox_agent.terminals.launch import Launch
from sandbox_agent.workspace.paths.os_errors import map_os_errors

if TYPE_CHECKING:
    from sandbox_agent.http.endpoints.processes.bodies import ProcessCreateRequest, ProcessRunRequest
    from sandbox_agent.http.services import Services
    from sandbox_agent.terminals.launch import TerminalSize
    from sandbox_agent.terminals.managed_process import ManagedProcess
    from sandbox_agent.terminals.process_registry import ProcessRegistry
    from sandbox_agent.workspace.files.workspace import Workspace

TAG = "processes"
PROCESS_ID = PathParameter("process_id", "`id` of the process", "proc_1")
ERRORS = [errors.NotFound]
START_ERRORS = [errors.NotFound, errors.PermissionDenied, errors.Conflict, errors.StreamError]


def process_registry(services: Services) -> ProcessRegistry:
    services.require_enabled("processes")
    return services.processes


def find_process(services: Services, process_id: str) -> ManagedProcess:
    return process_registry(services).get(process_id)


async def launch_of(
    wanted: ProcessCreateRequest | ProcessRunRequest, services: Services, size: TerminalSize | None = None
) -> Launch:
    """Raises InvalidRequest, or PermissionDenied for a directory outside --fs-root."""
    if wanted.cwd is not None and "\0" in wanted.cwd:
        raise InvalidRequest("the path contains a NUL character")
    if services.settings.fs_root is None:
        # Without a slash at its end: a start in the server's own directory is the cheap one (`spawn`).
        cwd = os.path.join(os.getcwd(), wanted.cwd) if wanted.cwd else os.getcwd()
    else:
        workspace = services.workspace
        absolute = workspace.absolute_directory(wanted.cwd or "")
        cwd = await services.file_executor.run(absolute, _real_directory, workspace, absolute)
    inherited = inherited_environment(os.environ, services.settings.agent_env_allow)
    inherited["SANDBOX_AGENT_BIN"] = services.executable
    return Launch(wanted.command, tuple(wanted.args), cwd, wanted.env, inherited, size)


def _real_directory(workspace: Workspace, absolute: str) -> str:
    """The directory without links, which would lead out of the root if they were changed later."""
    with workspace.resolve(absolute, follow=True) as resolved, map_os_errors(absolute):
        fd = os.open(resolved.name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=resolved.parent)
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
