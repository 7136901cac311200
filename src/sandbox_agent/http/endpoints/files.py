"""The file endpoints. All work on files happens in threads (`file_work`), step by step, with a time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.endpoints.file_downloads import send_archive, send_file, send_listing
from sandbox_agent.http.endpoints.file_uploads import receive_archive, receive_file
from sandbox_agent.http.json_body import json_body
from sandbox_agent.http.messages import Request, Response, StreamingResponse
from sandbox_agent.workspace.files import bodies, changes, reads
from sandbox_agent.workspace.files.progress_token import ProgressToken

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

TAR = b"application/x-tar"
_encode = msgspec.json.Encoder().encode


async def list_entries(request: Request, services: Services) -> Response | StreamingResponse:
    return await send_listing(services, request.query.get("path") or "")


async def read_file(request: Request, services: Services) -> Response | StreamingResponse:
    return await send_file(request, services, request.query.require("path"))


async def write_file(request: Request, services: Services) -> Response:
    written, etag = await receive_file(request, services, request.query.require("path"))
    return Response(200, _encode(written), [(b"etag", etag.encode())], b"application/json")


async def delete_entry(request: Request, services: Services) -> Response:
    path, recursive = request.query.require("path"), request.query.flag("recursive")
    absolute = services.workspace.absolute(path)
    await services.file_work.run(
        absolute, changes.delete, services.workspace, path, recursive=recursive, pulse=ProgressToken()
    )
    return Response.json(_encode(bodies.FsPath(absolute)))


async def make_directory(request: Request, services: Services) -> Response:
    path = request.query.require("path")
    absolute = services.workspace.absolute(path)
    await services.file_work.run(absolute, changes.mkdir, services.workspace, path)
    return Response.json(_encode(bodies.FsPath(absolute)))


async def move_entry(request: Request, services: Services) -> Response:
    body = await json_body(request, services, bodies.FsMove)
    absolute = services.workspace.absolute(body.source)
    source, to = await services.file_work.run(
        absolute,
        changes.move,
        services.workspace,
        body.source,
        body.to,
        overwrite=bool(body.overwrite),
        pulse=ProgressToken(),
    )
    return Response.json(_encode(bodies.FsMoved(source, to)))


async def stat_path(request: Request, services: Services) -> Response:
    path = request.query.require("path")
    absolute = services.workspace.absolute(path)
    found = await services.file_work.run(absolute, reads.stat, services.workspace, path)
    return Response.json(_encode(found))


async def upload_batch(request: Request, services: Services) -> Response:
    if request.media_type != TAR:
        raise InvalidRequest("content-type must be application/x-tar")
    uploaded = await receive_archive(request, services, request.query.get("path") or "")
    return Response.json(_encode(uploaded))


async def download_directory(request: Request, services: Services) -> StreamingResponse:
    return await send_archive(services, request.query.require("path"))
