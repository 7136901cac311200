"""`/v1/config/mcp` and `/v1/config/skills`: entries per directory, stored and returned, never acted upon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from sandbox_agent.errors import Conflict, InvalidRequest
from sandbox_agent.http.endpoints.config_kinds import (
    DIRECTORY,
    MCP,
    SKILLS,
    ConfigKind,
    delete_operation,
    get_operation,
    list_operation,
    put_operation,
)
from sandbox_agent.http.json_body import encode, json_bytes, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.workspace.config.store import ConfigStore
from sandbox_agent.workspace.executor.progress_token import ProgressToken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sandbox_agent.http.services import Services

    Handler = Callable[[Request, Services], Awaitable[Response]]


def _handlers(kind: ConfigKind) -> tuple[Handler, Handler, Handler, Handler]:
    """The handlers of one kind: get, put, delete and list."""

    @get_operation(kind)
    async def get(request: Request, services: Services) -> Response:
        directory, name = DIRECTORY.read(request), kind.entry_name.read(request)
        store = ConfigStore(services.workspace, kind.name)
        entry = await services.file_executor.run(_path(services, directory), store.get, directory, name)
        try:
            return json_response(kind.parse(entry))
        except InvalidRequest as error:
            raise Conflict(f"the stored entry '{name}' cannot be read: {_reason(error)}") from None

    @put_operation(kind)
    async def put(request: Request, services: Services) -> Response:
        directory, name = DIRECTORY.read(request), kind.entry_name.read(request)
        entry = encode(kind.parse(await json_bytes(request, services)))
        store = ConfigStore(services.workspace, kind.name)
        await services.file_executor.run(
            _path(services, directory), store.put, directory, name, entry, ProgressToken()
        )
        return Response(204)

    @delete_operation(kind)
    async def delete(request: Request, services: Services) -> Response:
        directory, name = DIRECTORY.read(request), kind.entry_name.read(request)
        store = ConfigStore(services.workspace, kind.name)
        await services.file_executor.run(
            _path(services, directory), store.delete, directory, name, ProgressToken()
        )
        return Response(204)

    @list_operation(kind)
    async def list_entries(request: Request, services: Services) -> Response:
        directory = DIRECTORY.read(request)
        store = ConfigStore(services.workspace, kind.name)
        stored = await services.file_executor.run(_path(services, directory), store.load, directory)
        entries: dict[str, msgspec.Struct] = {}
        invalid: dict[str, str] = {}
        for name, entry in sorted(stored.items()):
            try:
                entries[name] = kind.parse(entry)
            except InvalidRequest as error:
                invalid[name] = _reason(error)
        return json_response(kind.list_type(entries, invalid or UNSET))

    return get, put, delete, list_entries


def _path(services: Services, directory: str) -> str:
    return services.workspace.absolute_directory(directory)


def _reason(error: InvalidRequest) -> str:
    return error.detail.removeprefix("invalid request: ")


get_mcp, put_mcp, delete_mcp, list_mcp = _handlers(MCP)
get_skills, put_skills, delete_skills, list_skills = _handlers(SKILLS)
