"""The names of the TypeScript SDK in snake_case, so that code can be carried over line by line.

Each does what the method of the namespace does that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from sandbox_agent.sdk.resources.files import BinaryBody, Body
from sandbox_agent.sdk.resources.models import AcpInstance, AgentInfo, FileInfo, InstallResult, UploadResult
from sandbox_agent.sdk.session.callbacks import PermissionRequest
from sandbox_agent.sdk.session.config.config_options import ConfigOption, OptionValue
from sandbox_agent.sdk.session.session_options import SessionOptions
from sandbox_agent.sdk.stores import Page, SessionRecord
from sandbox_agent.sdk.sync.control import Acp, Agents, Config
from sandbox_agent.sdk.sync.files import Files
from sandbox_agent.sdk.sync.session import Session
from sandbox_agent.sdk.sync.sessions import Sessions
from sandbox_agent.sdk.universal import UniversalEvent


class FlatNames:
    """Flat names beside the namespaces."""

    sessions: Sessions
    agents: Agents
    acp: Acp
    fs: Files
    config: Config

    def health(self) -> dict[str, object]:
        """The server's own word on its health."""
        raise NotImplementedError

    def _page_of_sessions(self, cursor: str | None, limit: int) -> Page[SessionRecord]:
        raise NotImplementedError

    def create_session(self, agent: str, **options: Unpack[SessionOptions]) -> Session:
        """`sessions.create`."""
        return self.sessions.create(agent, **options)

    def resume_session(self, session_id: str) -> Session:
        """`sessions.resume`."""
        return self.sessions.resume(session_id)

    def resume_or_create_session(
        self, session_id: str, agent: str, **options: Unpack[SessionOptions]
    ) -> Session:
        """`sessions.resume_or_create`."""
        return self.sessions.resume_or_create(session_id, agent, **options)

    def destroy_session(self, session_id: str) -> None:
        """`sessions.terminate`."""
        self.sessions.terminate(session_id)

    def get_session(self, session_id: str) -> SessionRecord:
        """`sessions.get`."""
        return self.sessions.get(session_id)

    def get_events(self, session_id: str, offset: int = 0, limit: int = 100) -> list[UniversalEvent]:
        """`sessions.events`."""
        return self.sessions.events(session_id, offset, limit)

    def list_sessions(self, *, cursor: str | None = None, limit: int = 100) -> Page[SessionRecord]:
        """A page of `sessions.list`; `next_cursor` of the page asks for the next."""
        return self._page_of_sessions(cursor, limit)

    def set_session_mode(self, session_id: str, mode: str) -> None:
        """`session.set_mode`."""
        self.sessions.live(session_id).set_mode(mode)

    def set_session_model(self, session_id: str, model: str) -> None:
        """`session.set_model`."""
        self.sessions.live(session_id).set_model(model)

    def set_session_thought_level(self, session_id: str, level: str) -> None:
        """`session.set_thought_level`."""
        self.sessions.live(session_id).set_thought_level(level)

    def set_session_config_option(self, session_id: str, config_id: str, value: OptionValue) -> None:
        """`session.set_config_option`."""
        self.sessions.live(session_id).set_config_option(config_id, value)

    def get_session_config_options(self, session_id: str) -> list[ConfigOption]:
        """`session.config_options`."""
        return self.sessions.live(session_id).config_options

    def get_session_modes(self, session_id: str) -> list[str]:
        """`session.modes`."""
        return self.sessions.live(session_id).modes

    def raw_send_session_method(
        self,
        session_id: str,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        notification: bool = False,
    ) -> Any:
        """`session.raw_send`."""
        session = self.sessions.live(session_id)
        return session.raw_send(method, params, notification=notification)

    def on_session_event(
        self, session_id: str, callback: Callable[[UniversalEvent], None]
    ) -> Callable[[], None]:
        """`session.on_event`."""
        return self.sessions.live(session_id).on_event(callback)

    def on_permission_request(
        self, session_id: str, listener: Callable[[PermissionRequest], object]
    ) -> Callable[[], None]:
        """`session.on_permission_request`."""
        return self.sessions.live(session_id).on_permission_request(listener)

    def respond_permission(self, session_id: str, permission_id: str, reply: str) -> None:
        """`session.respond_permission`; the session comes first, as permissions are counted per session."""
        self.sessions.live(session_id).respond_permission(permission_id, reply)

    def raw_respond_permission(
        self, session_id: str, permission_id: str, response: Mapping[str, Any]
    ) -> None:
        """`session.raw_respond_permission`."""
        self.sessions.live(session_id).raw_respond_permission(permission_id, response)

    def get_health(self) -> dict[str, object]:
        """`health`."""
        return self.health()

    def list_agents(self, *, config: bool = False, no_cache: bool = False) -> list[AgentInfo]:
        """`agents.list`."""
        return self.agents.list(config=config, no_cache=no_cache)

    def get_agent(self, agent: str, *, config: bool = False, no_cache: bool = False) -> AgentInfo:
        """`agents.get`."""
        return self.agents.get(agent, config=config, no_cache=no_cache)

    def install_agent(
        self,
        agent: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
    ) -> InstallResult:
        """`agents.install`."""
        return self.agents.install(
            agent,
            reinstall=reinstall,
            agent_version=agent_version,
            agent_process_version=agent_process_version,
        )

    def list_acp_servers(self) -> list[AcpInstance]:
        """`acp.list`."""
        return self.acp.list()

    def list_fs_entries(self, path: str | None = None) -> list[FileInfo]:
        """`fs.list`."""
        return self.fs.list(path)

    def read_fs_file(self, path: str) -> bytes:
        """`fs.read`."""
        return self.fs.read(path)

    def write_fs_file(self, path: str, data: Body) -> int:
        """`fs.write`."""
        return self.fs.write(path, data)

    def delete_fs_entry(self, path: str, *, recursive: bool = False) -> str:
        """`fs.delete`."""
        return self.fs.delete(path, recursive=recursive)

    def mkdir_fs(self, path: str) -> str:
        """`fs.mkdir`."""
        return self.fs.mkdir(path)

    def move_fs(self, source: str, target: str, *, overwrite: bool = False) -> str:
        """`fs.move`."""
        return self.fs.move(source, target, overwrite=overwrite)

    def stat_fs(self, path: str) -> FileInfo:
        """`fs.stat`."""
        return self.fs.stat(path)

    def upload_fs_batch(self, tar: BinaryBody, path: str | None = None) -> UploadResult:
        """`fs.upload_tar`."""
        return self.fs.upload_tar(tar, path)

    def get_mcp_config(self, directory: str, name: str) -> dict[str, Any]:
        """`config.mcp.get`."""
        return self.config.mcp.get(directory, name)

    def set_mcp_config(self, directory: str, name: str, entry: Mapping[str, Any]) -> None:
        """`config.mcp.set`."""
        self.config.mcp.set(directory, name, entry)

    def delete_mcp_config(self, directory: str, name: str) -> None:
        """`config.mcp.delete`."""
        self.config.mcp.delete(directory, name)

    def get_skills_config(self, directory: str, name: str) -> dict[str, Any]:
        """`config.skills.get`."""
        return self.config.skills.get(directory, name)

    def set_skills_config(self, directory: str, name: str, entry: Mapping[str, Any]) -> None:
        """`config.skills.set`."""
        self.config.skills.set(directory, name, entry)

    def delete_skills_config(self, directory: str, name: str) -> None:
        """`config.skills.delete`."""
        self.config.skills.delete(directory, name)
