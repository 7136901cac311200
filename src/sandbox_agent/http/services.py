"""The parts of a server that handlers use, made together and shut down together."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.eventlog.event_log import Retention
from sandbox_agent.bridge.eventlog.spill_directory import SpillDirectory
from sandbox_agent.bridge.instance_limits import FIRST_LINE_S, SILENCE_S, InstanceLimits
from sandbox_agent.bridge.process.inherited_environment import inherited_environment
from sandbox_agent.bridge.process.limits import ProcessLimits
from sandbox_agent.bridge.registry import BridgeSettings, InstanceRegistry
from sandbox_agent.errors import NotFound
from sandbox_agent.http.access.access_check import AccessCheck
from sandbox_agent.http.acp.early_headers import EarlyHeaders
from sandbox_agent.http.acp.stream_slots import StreamSlots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

    from sandbox_agent.agents.catalog.catalog import Catalog
    from sandbox_agent.agents.install.install_progress import Progress
    from sandbox_agent.agents.install.installer import Installer
    from sandbox_agent.agents.install.layout import InstallLayout
    from sandbox_agent.agents.inventory.inventory import Inventory
    from sandbox_agent.agents.launch.launcher import Launcher
    from sandbox_agent.bridge.launch_spec import LaunchSpec
    from sandbox_agent.bridge.warm_target import WarmTarget
    from sandbox_agent.http.acp_remote.connections import RemoteConnections
    from sandbox_agent.http.tool_relays.tool_relays import ToolRelays
    from sandbox_agent.settings import Settings
    from sandbox_agent.terminals.managed_process import ManagedProcess
    from sandbox_agent.terminals.process_registry import ProcessRegistry
    from sandbox_agent.workspace.executor.file_executor import FileExecutor
    from sandbox_agent.workspace.files.workspace import Workspace

logger = logs.Log("sandbox_agent.http")


class Services:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.access = AccessCheck(settings)
        self.stopping = False
        self.local_url: str | None = None
        """The address of the server command for programs on this machine."""
        self.streams = StreamSlots(settings.max_streams)
        self.heartbeat_s = settings.acp_heartbeat_ms / 1000
        self.early_headers = EarlyHeaders(
            settings.acp_early_header_ms / 1000, settings.acp_early_header_interval_ms / 1000
        )
        self.process_limits = ProcessLimits(
            user=settings.agent_user,
            memory_bytes=settings.agent_memory_mb * 1024 * 1024,
            processes=settings.agent_processes,
            cpu_s=settings.agent_cpu_s,
        )
        self.spill_directory = SpillDirectory(os.path.join(settings.data_directory, "spill"))
        self.instances = InstanceRegistry(self._bridge_settings(), _LazyLauncher(self))
        self.instances.close_listeners.append(
            lambda instance: self.access.tickets.revoke_all(instance.server_id)
        )

    def _bridge_settings(self) -> BridgeSettings:
        settings = self.settings
        silence_s = settings.acp_request_timeout_ms / 1000
        limits = InstanceLimits(
            first_line_s=silence_s or FIRST_LINE_S,
            silence_s=silence_s or SILENCE_S,
            max_line_bytes=settings.acp_max_line_bytes,
            adapter_messages=not settings.no_adapter_messages,
            client_log=not settings.no_client_log,
        )
        return BridgeSettings(
            limits=limits,
            retention=Retention(settings.replay_max_events, settings.replay_max_bytes),
            spill_directory=self.spill_directory.own,
            spill_max_bytes=settings.spill_max_bytes,
            max_instances=settings.max_instances,
            idle_timeout_s=float(settings.idle_timeout),
            process_limits=self.process_limits,
            warm=_warm_targets(settings),
            warm_idle_s=float(settings.warm_idle_timeout),
        )

    @cached_property
    def catalog(self) -> Catalog:
        from sandbox_agent.agents.catalog.catalog import Catalog  # loaded with the first agent

        own, given = self.settings.own_agents_file, self.settings.agents
        return Catalog.load(own, given) if own or given else Catalog()

    @cached_property
    def layout(self) -> InstallLayout:
        from sandbox_agent.agents.install.layout import InstallLayout

        return InstallLayout(self.settings.data_directory)

    @cached_property
    def installer(self) -> Installer:
        from sandbox_agent.agents.install.installer import Installer  # loaded with the first installation

        return Installer(self.catalog, self.layout)

    def install_progress(self, agent_id: str) -> Progress | None:
        """How far a running install of the agent is."""
        return self.installer.progress_of(agent_id) if self._loaded("installer") else None

    @cached_property
    def launcher(self) -> Launcher:
        from sandbox_agent.agents.launch.launcher import Launcher  # loaded with the first agent

        return Launcher(
            self.catalog,
            self.layout,
            lambda: self.installer,
            server_executable=self.executable,
            pass_credentials=self.settings.pass_credentials,
            inherited=inherited_environment(os.environ, self.settings.agent_env_allow),
        )

    @cached_property
    def executable(self) -> str:
        """The `sandbox-agent` command, for agents and processes (`SANDBOX_AGENT_BIN`)."""
        from sandbox_agent.runtime.server_executable import server_executable

        return server_executable()

    @cached_property
    def remote_connections(self) -> RemoteConnections:
        from sandbox_agent.http.acp_remote.connections import RemoteConnections  # with the first of /acp

        return RemoteConnections(self.instances, self.settings)

    @cached_property
    def tool_relays(self) -> ToolRelays:
        from sandbox_agent.http.tool_relays.tool_relays import ToolRelays  # with the first relay

        return ToolRelays(self.instances, self.access.tickets)

    @cached_property
    def inventory(self) -> Inventory:
        from sandbox_agent.agents.inventory.inventory import Inventory  # loaded with the first list of agents

        return Inventory(self.catalog, self.layout, self.launcher, process_limits=self.process_limits)

    @cached_property
    def workspace(self) -> Workspace:
        from sandbox_agent.workspace.files.workspace import Workspace  # loaded with the first file request

        return Workspace(fs_root=self.settings.fs_root)

    @cached_property
    def file_executor(self) -> FileExecutor:
        from sandbox_agent.workspace.executor.file_executor import FileExecutor  # with the first file request

        return FileExecutor(silence_s=self.settings.fs_timeout_ms / 1000)

    def claim_spill_directory(self) -> None:
        """Create the directory for spilled events; if that fails, events stay in memory only."""
        try:
            self.spill_directory.claim()
        except OSError as error:
            logger.warning("spill.unavailable", error=str(error))

    @cached_property
    def processes(self) -> ProcessRegistry:
        from sandbox_agent.terminals.process_config import ProcessConfig  # loaded with the first process
        from sandbox_agent.terminals.process_registry import ProcessRegistry

        settings = self.settings
        config = ProcessConfig(
            max_concurrent_processes=settings.max_processes,
            default_run_timeout_ms=settings.process_run_timeout_ms,
            max_run_timeout_ms=settings.process_max_run_timeout_ms,
            max_output_bytes=settings.process_output_bytes,
            max_log_bytes_per_process=settings.process_log_bytes,
            max_input_bytes_per_request=settings.process_input_bytes,
        ).consistent()
        limits = ProcessLimits(
            user=settings.process_user or settings.agent_user,
            memory_bytes=settings.process_memory_mb * 1024 * 1024,
            cpu_s=settings.process_cpu_s,
        )
        return ProcessRegistry(config, self.instances, limits, settings.max_exited_processes)

    def require_enabled(
        self, name: Literal["events", "fs_watch", "git", "processes", "system", "tool_relays"]
    ) -> None:
        """Raise NotFound if endpoints are switched off by their setting, such as `--git off`."""
        if getattr(self.settings, name) == "off":
            raise NotFound.switched_off(f"--{name.replace('_', '-')}")

    @property
    def started_processes(self) -> Iterable[ManagedProcess]:
        """Processes that users have started and that are not deleted."""
        return self.processes if self._loaded("processes") else ()

    def _loaded(self, name: str) -> bool:
        """Whether the part has been used; each is a cached property."""
        return name in self.__dict__

    async def shutdown(self) -> None:
        """End every stream, every process and every agent."""
        self.stopping = True
        if self._loaded("processes"):
            import asyncio  # loaded with the first process

            await asyncio.gather(self.processes.shutdown(), self.instances.shutdown())
        else:
            await self.instances.shutdown()
        if self._loaded("inventory"):
            await self.inventory.aclose()
        if self._loaded("installer"):
            await self.installer.aclose()
        if self._loaded("file_executor"):
            self.file_executor.close()
        if self._loaded("workspace"):
            self.workspace.close()
        self.spill_directory.remove()


def _warm_targets(settings: Settings) -> Sequence[WarmTarget]:
    if not settings.warm:
        return ()
    from sandbox_agent.bridge.warm_target import parse_targets  # only with --warm

    return parse_targets(settings.warm)


class _LazyLauncher:
    """Creates the launcher with the first agent."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def spec_if_installed(
        self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> LaunchSpec | None:
        return self._services.launcher.spec_if_installed(agent_id, cwd=cwd, env=env)

    async def prepare(
        self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> LaunchSpec:
        return await self._services.launcher.prepare(agent_id, cwd=cwd, env=env)
