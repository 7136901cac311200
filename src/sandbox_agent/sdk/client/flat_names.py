"""The names of the TypeScript SDK in snake_case, so that code can be carried over line by line.

Each does what the method of the namespace does that it calls.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from sandbox_agent.sdk.resources.acp import AsyncAcp
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.resources.files import AsyncFiles, BinaryBody, Body
from sandbox_agent.sdk.resources.models import AcpInstance, AgentInfo, FileInfo, InstallResult, UploadResult
from sandbox_agent.sdk.session.config.config_options import ConfigOption, OptionValue
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.session_events import EventCallback
from sandbox_agent.sdk.session.session_names import PermissionListener
from sandbox_agent.sdk.session.session_options import SessionOptions
from sandbox_agent.sdk.session.sessions import AsyncSessions
from sandbox_agent.sdk.stores import Page, SessionRecord, SessionStore
from sandbox_agent.sdk.universal import UniversalEvent


class AsyncFlatNames:
    """Flat names beside the namespaces."""

    sessions: AsyncSessions
    agents: AsyncAgents
    acp: AsyncAcp
    fs: AsyncFiles
    config: AsyncConfig
    store: SessionStore

    @abstractmethod
    async def health(self) -> dict[str, object]:
        """The server's own word on its health."""

    async def create_session(self, agent: str, **options: Unpack[SessionOptions]) -> AsyncSession:
        """`sessions.create`."""
        return await self.sessions.create(agent, **options)

    async def resume_session(self, session_id: str) -> AsyncSession:
        """`sessions.resume`."""
        return await self.sessions.resume(session_id)

    async def resume_or_create_session(
        self, session_id: str, agent: str, **options: Unpack[SessionOptions]
    ) -> AsyncSession:
        """`sessions.resume_or_create`."""
        return await self.sessions.resume_or_create(session_id, agent, **options)

    async def destroy_session(self, session_id: str) -> None:
        """`sessions.terminate`."""
        await self.sessions.terminate(session_id)

    async def get_session(self, session_id: str) -> SessionRecord:
        """`sessions.get`."""
        return await self.sessions.get(session_id)

    async def get_events(self, session_id: str, offset: int = 0, limit: int = 100) -> list[UniversalEvent]:
        """`sessions.events`."""
        return await self.sessions.events(session_id, offset, limit)

    async def list_sessions(self, *, cursor: str | None = None, limit: int = 100) -> Page[SessionRecord]:
        """A page of `sessions.list`; `next_cursor` of the page asks for the next."""
        return await self.store.list_sessions(cursor=cursor, limit=limit)

    async def set_session_mode(self, session_id: str, mode: str) -> None:
        """`session.set_mode`."""
        await (await self.sessions.live(session_id)).set_mode(mode)

    async def set_session_model(self, session_id: str, model: str) -> None:
        """`session.set_model`."""
        await (await self.sessions.live(session_id)).set_model(model)

    async def set_session_thought_level(self, session_id: str, level: str) -> None:
        """`session.set_thought_level`."""
        await (await self.sessions.live(session_id)).set_thought_level(level)

    async def set_session_config_option(self, session_id: str, config_id: str, value: OptionValue) -> None:
        """`session.set_config_option`."""
        await (await self.sessions.live(session_id)).set_config_option(config_id, value)

    async def get_session_config_options(self, session_id: str) -> list[ConfigOption]:
        """`session.config_options`."""
        return (await self.sessions.live(session_id)).config_options

    async def get_session_modes(self, session_id: str) -> list[str]:
        """`session.modes`."""
        return (await self.sessions.live(session_id)).modes

    async def raw_send_session_method(
        self,
        session_id: str,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        notification: bool = False,
    ) -> Any:
        """`session.raw_send`."""
        session = await self.sessions.live(session_id)
        return await session.raw_send(method, params, notification=notification)

    async def on_session_event(self, session_id: str, callback: EventCallback) -> Callable[[], None]:
        """`session.on_event`."""
        return (await self.sessions.live(session_id)).on_event(callback)

    async def on_permission_request(
        self, session_id: str, listener: PermissionListener
    ) -> Callable[[], None]:
        """`session.on_permission_request`."""
        return (await self.sessions.live(session_id)).on_permission_request(listener)

    async def respond_permission(self, session_id: str, permission_id: str, reply: str) -> None:
        """`session.respond_permission`; the session comes first, as permissions are counted per session."""
        await (await self.sessions.live(session_id)).respond_permission(permission_id, reply)

    async def raw_respond_permission(
        self, session_id: str, permission_id: str, response: Mapping[str, Any]
    ) -> None:
        """`session.raw_respond_permission`."""
        await (await self.sessions.live(session_id)).raw_respond_permission(permission_id, response)

    async def get_health(self) -> dict[str, object]:
        """`health`."""
        return await self.health()

    async def list_agents(self, *, config: bool = False, no_cache: bool = False) -> list[AgentInfo]:
        """`agents.list`."""
        return await self.agents.list(config=config, no_cache=no_cache)

    async def get_agent(self, agent: str, *, config: bool = False, no_cache: bool = False) -> AgentInfo:
        """`agents.get`."""
        return await self.agents.get(agent, config=config, no_cache=no_cache)

    async def install_agent(
        self,
        agent: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
    ) -> InstallResult:
        """`agents.install`."""
        return await self.agents.install(
            agent,
            reinstall=reinstall,
            agent_version=agent_version,
            agent_process_version=agent_process_version,
        )

    async def list_acp_servers(self) -> list[AcpInstance]:
        """`acp.list`."""
        return await self.acp.list()

    async def list_fs_entries(self, path: str | None = None) -> list[FileInfo]:
        """`fs.list`."""
        return await self.fs.list(path)

    async def read_fs_file(self, path: str) -> bytes:
        """`fs.read`."""
        return await self.fs.read(path)

    async def write_fs_file(self, path: str, data: Body) -> int:
        """`fs.write`."""
        return await self.fs.write(path, data)

    async def delete_fs_entry(self, path: str, *, recursive: bool = False) -> str:
        """`fs.delete`."""
        return await self.fs.delete(path, recursive=recursive)

    async def mkdir_fs(self, path: str) -> str:
        """`fs.mkdir`."""
        return await self.fs.mkdir(path)

    async def move_fs(self, source: str, target: str, *, overwrite: bool = False) -> str:
        """`fs.move`."""
        return await self.fs.move(source, target, overwrite=overwrite)

    async def stat_fs(self, path: str) -> FileInfo:
        """`fs.stat`."""
        return await self.fs.stat(path)

    async def upload_fs_batch(self, tar: BinaryBody, path: str | None = None) -> UploadResult:
        """`fs.upload_tar`."""
        return await self.fs.upload_tar(tar, path)

    async def get_mcp_config(self, directory: str, name: str) -> dict[str, Any]:
        """`config.mcp.get`."""
        return await self.config.mcp.get(directory, name)

    async def set_mcp_config(self, directory: str, name: str, entry: Mapping[str, Any]) -> None:
        """`config.mcp.set`."""
        await self.config.mcp.set(directory, name, entry)

    async def delete_mcp_config(self, directory: str, name: str) -> None:
        """`config.mcp.delete`."""
        await self.config.mcp.delete(directory, name)

    async def get_skills_config(self, directory: str, name: str) -> dict[str, Any]:
        """`config.skills.get`."""
        return await self.config.skills.get(directory, name)

    async def set_skills_config(self, directory: str, name: str, entry: Mapping[str, Any]) -> None:
        """`config.skills.set`."""
        await self.config.skills.set(directory, name, entry)

    async def delete_skills_config(self, directory: str, name: str) -> None:
        """`config.skills.delete`."""
        await self.config.skills.delete(directory, name)
