"""`/v1/fs`: read, write and change files and directories.

All work on files happens in threads (`Services.file_executor`), step by step, with a time limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandbox_agent import errors
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.endpoints.files.file_downloads import send_archive, send_file, send_listing
from sandbox_agent.http.endpoints.files.file_uploads import (
    IF_MATCH,
    IF_NONE_MATCH,
    receive_archive,
    receive_file,
)
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response, StreamingResponse
from sandbox_agent.http.openapi.operation import (
    Binary,
    Content,
    Flag,
    HeaderParameter,
    Operation,
    OptionalText,
    RequiredText,
    ResponseSpec,
)
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files import bodies, directory_entries, listing
from sandbox_agent.workspace.files.move import move

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

TAR = "application/x-tar"
_OCTETS = "application/octet-stream"
_PATH = RequiredText(
    "path",
    "Absolute, or relative to the home directory (with --fs-root: to the root) and then without `..`",
    "notes/today.txt",
)
_OPTIONAL_PATH = OptionalText("path", "A directory; the home directory (or the root) when absent", "notes")
_RECURSIVE = Flag("recursive", "Also a directory that is not empty", True)
_ERRORS = [errors.PermissionDenied, errors.NotFound, errors.StreamError, errors.Timeout]
_FILE_HEADERS = {"ETag": "Changes with the content", "Accept-Ranges": "`bytes`"}
_FILE = "/home/user/notes/today.txt"
_STAT: dict[str, Any] = {
    "path": _FILE,
    "entryType": "file",
    "size": 12,
    "modified": "2026-01-02T03:04:05.678901234+00:00",
    "symlink": False,
    "mode": "0644",
}


def _links(*operations: str, path: str = "$response.body#/path") -> dict[str, dict[str, Any]]:
    """Operations that take the path this response has named."""
    return {name: {"operationId": name, "parameters": {"query.path": path}} for name in operations}


@Operation(
    id="listFsEntries",
    tag="files",
    summary="List a directory",
    description="Not recursive, in no order. Links are reported as links and not followed.",
    parameters=[_OPTIONAL_PATH],
    responses={
        200: ResponseSpec("The entries", [Content(list[bodies.FsEntry], [{"name": "today.txt", **_STAT}])])
    },
    errors=_ERRORS,
)
async def list_entries(request: Request, services: Services) -> Response | StreamingResponse:
    return await send_listing(services, _OPTIONAL_PATH.read(request) or "")


@Operation(
    id="readFsFile",
    tag="files",
    summary="Read a file",
    description="Streamed; any size. One byte range at a time.",
    parameters=[
        _PATH,
        HeaderParameter("Range", "One range of bytes", "bytes=0-1023"),
        HeaderParameter("If-None-Match", "ETag of the copy the client has", '"abc"'),
        HeaderParameter("If-Range", "Use `Range` only if this is still the ETag"),
    ],
    responses={
        200: ResponseSpec("The file", [Content(Binary, media_type=_OCTETS)], _FILE_HEADERS),
        206: ResponseSpec(
            "The range",
            [Content(Binary, media_type=_OCTETS)],
            {**_FILE_HEADERS, "Content-Range": "Which bytes of how many"},
        ),
        304: ResponseSpec("The client's copy is current", headers={"ETag": "Changes with the content"}),
    },
    errors=[*_ERRORS, errors.RangeNotSatisfiable],
    with_head=True,
)
async def read_file(request: Request, services: Services) -> Response | StreamingResponse:
    return await send_file(request, services, _PATH.read(request))


@Operation(
    id="writeFsFile",
    tag="files",
    summary="Write a file",
    description=(
        "Parents are created. The old content stays until the new one is complete and safe on disk; a "
        "broken upload changes nothing. Any content type."
    ),
    parameters=[_PATH, IF_MATCH, IF_NONE_MATCH],
    body=Content(Binary, media_type=_OCTETS),
    body_required=False,
    responses={
        200: ResponseSpec(
            "Written",
            [Content(bodies.FsWritten, bodies.FsWritten(_FILE, 12))],
            {"ETag": "Of the new content"},
            _links("readFsFile", "statFs", "deleteFsEntry"),
        )
    },
    errors=[*_ERRORS, errors.PreconditionFailed],
)
async def write_file(request: Request, services: Services) -> Response:
    written, etag = await receive_file(request, services, _PATH.read(request))
    return json_response(written, [(b"etag", etag.encode())])


@Operation(
    id="deleteFsEntry",
    tag="files",
    summary="Delete a file, link or directory",
    description=(
        "A link itself is removed, never what it points to. `/`, the home directory and the root are refused."
    ),
    parameters=[_PATH, _RECURSIVE],
    responses={200: ResponseSpec("Deleted", [Content(bodies.FsPath, bodies.FsPath("/home/user/notes"))])},
    errors=_ERRORS,
)
async def delete_entry(request: Request, services: Services) -> Response:
    path, recursive = _PATH.read(request), _RECURSIVE.read(request)
    absolute = services.workspace.absolute(path)
    await services.file_executor.run(
        absolute,
        directory_entries.delete,
        services.workspace,
        path,
        recursive=recursive,
        progress=ProgressToken(),
    )
    return json_response(bodies.FsPath(absolute))


@Operation(
    id="mkdirFs",
    tag="files",
    summary="Create a directory",
    description="Parents are created; a directory that exists already is no error.",
    parameters=[_PATH],
    responses={
        200: ResponseSpec(
            "The directory exists",
            [Content(bodies.FsPath, bodies.FsPath("/home/user/notes"))],
            links=_links("listFsEntries", "downloadFs", "uploadFsBatch", "deleteFsEntry"),
        )
    },
    errors=_ERRORS,
)
async def make_directory(request: Request, services: Services) -> Response:
    path = _PATH.read(request)
    absolute = services.workspace.absolute(path)
    await services.file_executor.run(absolute, directory_entries.mkdir, services.workspace, path)
    return json_response(bodies.FsPath(absolute))


@Operation(
    id="moveFs",
    tag="files",
    summary="Move or rename",
    description=(
        "Parents of `to` are created. With `overwrite` the destination is replaced in one step; when the "
        "move fails the destination is unchanged."
    ),
    body=Content(bodies.FsMove, {"from": "notes/today.txt", "to": "archive/today.txt"}),
    responses={
        200: ResponseSpec(
            "Moved",
            [Content(bodies.FsMoved, bodies.FsMoved(_FILE, "/home/user/archive/today.txt"))],
            links=_links("statFs", "readFsFile", path="$response.body#/to"),
        )
    },
    errors=[*_ERRORS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def move_entry(request: Request, services: Services) -> Response:
    body = await json_body(request, services, bodies.FsMove)
    absolute = services.workspace.absolute(body.source)
    source, to = await services.file_executor.run(
        absolute,
        move,
        services.workspace,
        body.source,
        body.to,
        overwrite=bool(body.overwrite),
        progress=ProgressToken(),
    )
    return json_response(bodies.FsMoved(source, to))


@Operation(
    id="statFs",
    tag="files",
    summary="Show one file or directory",
    description="Follows links; `symlink` says whether the path itself is one.",
    parameters=[_PATH],
    responses={200: ResponseSpec("The file or directory", [Content(bodies.FsStat, _STAT)])},
    errors=_ERRORS,
)
async def stat_path(request: Request, services: Services) -> Response:
    path = _PATH.read(request)
    absolute = services.workspace.absolute(path)
    return json_response(await services.file_executor.run(absolute, listing.stat, services.workspace, path))


@Operation(
    id="uploadFsBatch",
    tag="files",
    summary="Unpack a tar archive",
    description=(
        "Plain, gzip or zstd, recognised by the first bytes. Only regular files, directories, and links that "
        "stay inside the destination; anything else is refused by name and ends the extraction."
    ),
    parameters=[_OPTIONAL_PATH],
    body=Content(Binary, media_type=TAR),
    body_required=False,
    responses={
        200: ResponseSpec(
            "Unpacked; the first 1024 paths",
            [Content(bodies.FsUploaded, bodies.FsUploaded([_FILE], False))],
            links=_links("statFs", "deleteFsEntry", path="$response.body#/paths/0"),
        )
    },
    errors=[*_ERRORS, errors.PayloadTooLarge],
)
async def upload_batch(request: Request, services: Services) -> Response:
    if request.media_type != TAR.encode():
        raise InvalidRequest(f"content-type must be {TAR}")
    return json_response(await receive_archive(request, services, _OPTIONAL_PATH.read(request) or ""))


@Operation(
    id="downloadFs",
    tag="files",
    summary="Download a directory as tar",
    description="Streamed. Names are relative to the directory; links are kept as links.",
    parameters=[_PATH],
    responses={200: ResponseSpec("The archive", [Content(Binary, media_type=TAR)])},
    errors=_ERRORS,
)
async def download_directory(request: Request, services: Services) -> StreamingResponse:
    return await send_archive(services, _PATH.read(request))
