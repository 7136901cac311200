"""The config endpoints: entries of MCP servers and skills, stored per directory and never acted upon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from sandbox_agent.errors import Conflict, InvalidRequest
from sandbox_agent.http.json_body import json_bytes
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.workspace.config import mcp, skills
from sandbox_agent.workspace.config.store import ConfigStore
from sandbox_agent.workspace.files.progress_token import ProgressToken

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services


class _Kind:
    """What differs between MCP and skills."""

    def __init__(self, name: str, parameter: tuple[str, str], normalised: Callable[..., bytes]) -> None:
        self.name = name
        self.parameter = parameter
        self.normalised = normalised


_MCP = _Kind("mcp", ("mcpName", "mcp_name"), mcp.normalised)
_SKILLS = _Kind("skills", ("skillName", "skill_name"), skills.normalised)


async def get_mcp(request: Request, services: Services) -> Response:
    return await _get(request, services, _MCP)


async def put_mcp(request: Request, services: Services) -> Response:
    return await _put(request, services, _MCP)


async def delete_mcp(request: Request, services: Services) -> Response:
    return await _delete(request, services, _MCP)


async def list_mcp(request: Request, services: Services) -> Response:
    return await _list(request, services, _MCP)


async def get_skills(request: Request, services: Services) -> Response:
    return await _get(request, services, _SKILLS)


async def put_skills(request: Request, services: Services) -> Response:
    return await _put(request, services, _SKILLS)


async def delete_skills(request: Request, services: Services) -> Response:
    return await _delete(request, services, _SKILLS)


async def list_skills(request: Request, services: Services) -> Response:
    return await _list(request, services, _SKILLS)


async def _get(request: Request, services: Services, kind: _Kind) -> Response:
    directory, name = _directory(request), _name(request, kind)
    store = ConfigStore(services.workspace, kind.name)
    entry = await services.file_work.run(_path(services, directory), store.get, directory, name)
    try:
        return Response.json(kind.normalised(entry))
    except InvalidRequest as error:
        raise Conflict(f"the stored entry '{name}' cannot be read: {_reason(error)}") from None


async def _put(request: Request, services: Services, kind: _Kind) -> Response:
    directory, name = _directory(request), _name(request, kind)
    entry = kind.normalised(await json_bytes(request, services))
    store = ConfigStore(services.workspace, kind.name)
    await services.file_work.run(
        _path(services, directory), store.put, directory, name, entry, ProgressToken()
    )
    return Response(204)


async def _delete(request: Request, services: Services, kind: _Kind) -> Response:
    directory, name = _directory(request), _name(request, kind)
    store = ConfigStore(services.workspace, kind.name)
    await services.file_work.run(_path(services, directory), store.delete, directory, name, ProgressToken())
    return Response(204)


async def _list(request: Request, services: Services, kind: _Kind) -> Response:
    directory = _directory(request)
    store = ConfigStore(services.workspace, kind.name)
    stored = await services.file_work.run(_path(services, directory), store.load, directory)
    entries: dict[str, msgspec.Raw] = {}
    invalid: dict[str, str] = {}
    for name, entry in sorted(stored.items()):
        try:
            entries[name] = msgspec.Raw(kind.normalised(entry))
        except InvalidRequest as error:
            invalid[name] = _reason(error)
    answer: dict[str, object] = {"entries": entries}
    if invalid:
        answer["invalid"] = invalid
    return Response.json(msgspec.json.encode(answer))


def _directory(request: Request) -> str:
    return _required(request, "directory")


def _name(request: Request, kind: _Kind) -> str:
    return _required(request, *kind.parameter)


def _required(request: Request, name: str, *aliases: str) -> str:
    value = request.query.require(name, *aliases)
    if not value.strip():
        raise InvalidRequest(f"missing required '{name}' query parameter")
    return value


def _path(services: Services, directory: str) -> str:
    return services.workspace.absolute_directory(directory)


def _reason(error: InvalidRequest) -> str:
    return error.detail.removeprefix("invalid request: ")
