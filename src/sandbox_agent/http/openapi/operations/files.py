"""Descriptions of the file endpoints."""

from __future__ import annotations

from sandbox_agent import errors
from sandbox_agent.http.openapi.operations.operation import Answer, Content, Operation, Parameter
from sandbox_agent.workspace.files import bodies

_BYTES = {"type": "string", "format": "binary"}
_OCTETS = "application/octet-stream"
_TAR = "application/x-tar"
_FLAG = {"type": "boolean"}
_PATH = Parameter(
    "path",
    "Absolute, or relative to the home directory (with --fs-root: to the root) and then without `..`",
    required=True,
    example="notes/today.txt",
)
_OPTIONAL_PATH = Parameter(
    "path", "A directory; the home directory (or the root) when absent", example="notes"
)
_ALWAYS = [errors.PermissionDenied, errors.NotFound, errors.StreamError, errors.Timeout]
_FILE_HEADERS = {
    "ETag": "Changes with the content",
    "Accept-Ranges": "`bytes`",
}
_STAT = {
    "path": "/home/user/notes/today.txt",
    "entryType": "file",
    "size": 12,
    "modified": "2026-01-02T03:04:05.678901234+00:00",
    "symlink": False,
    "mode": "0644",
}


def _next(*operations: str, path: str = "$response.body#/path") -> dict[str, dict[str, object]]:
    return {name: {"operationId": name, "parameters": {"query.path": path}} for name in operations}


OPERATIONS = {
    ("GET", "/v1/fs/entries"): Operation(
        id="listFsEntries",
        tag="files",
        summary="List a directory",
        description="Not recursive, in no order. Links are reported as links and not followed.",
        parameters=[_OPTIONAL_PATH],
        answers={
            200: Answer("The entries", [Content(list[bodies.FsEntry], [{"name": "today.txt", **_STAT}])])
        },
        errors=_ALWAYS,
    ),
    ("GET", "/v1/fs/file"): Operation(
        id="readFsFile",
        tag="files",
        summary="Read a file",
        description="Streamed; any size. One byte range at a time.",
        parameters=[
            _PATH,
            Parameter("Range", "One range of bytes", where="header", example="bytes=0-1023"),
            Parameter("If-None-Match", "ETag of the copy you have", where="header", example='"abc"'),
            Parameter("If-Range", "Use `Range` only if this is still the ETag", where="header"),
        ],
        answers={
            200: Answer("The file", [Content(_BYTES, media_type=_OCTETS)], _FILE_HEADERS),
            206: Answer(
                "The range",
                [Content(_BYTES, media_type=_OCTETS)],
                {**_FILE_HEADERS, "Content-Range": "Which bytes of how many"},
            ),
            304: Answer("You have it already", headers={"ETag": "Changes with the content"}),
        },
        errors=[*_ALWAYS, errors.RangeNotSatisfiable],
        with_head=True,
    ),
    ("PUT", "/v1/fs/file"): Operation(
        id="writeFsFile",
        tag="files",
        summary="Write a file",
        description=(
            "Parents are created. The old content stays until the new one is complete and safe on disk; a "
            "broken upload changes nothing. Any content type."
        ),
        parameters=[
            _PATH,
            Parameter("If-Match", "Write only over the file with this ETag", where="header", example='"abc"'),
            Parameter(
                "If-None-Match", "`*`: write only if there is no file yet", where="header", example="*"
            ),
        ],
        body=[Content(_BYTES, media_type=_OCTETS)],
        body_required=False,
        answers={
            200: Answer(
                "Written",
                [Content(bodies.FsWritten, {"path": "/home/user/notes/today.txt", "bytesWritten": 12})],
                {"ETag": "Of the new content"},
                _next("readFsFile", "statFs", "deleteFsEntry"),
            )
        },
        errors=[*_ALWAYS, errors.PreconditionFailed],
    ),
    ("DELETE", "/v1/fs/entry"): Operation(
        id="deleteFsEntry",
        tag="files",
        summary="Delete a file, link or directory",
        description=(
            "A link itself is removed, never what it points to. `/`, the home directory and the root are "
            "refused."
        ),
        parameters=[
            _PATH,
            Parameter("recursive", "Also a directory that is not empty", schema=_FLAG, example=True),
        ],
        answers={200: Answer("Deleted", [Content(bodies.FsPath, {"path": "/home/user/notes"})])},
        errors=_ALWAYS,
    ),
    ("POST", "/v1/fs/mkdir"): Operation(
        id="mkdirFs",
        tag="files",
        summary="Make a directory",
        description="Parents are created; a directory that exists is fine.",
        parameters=[_PATH],
        answers={
            200: Answer(
                "It is there",
                [Content(bodies.FsPath, {"path": "/home/user/notes"})],
                links=_next("listFsEntries", "downloadFs", "uploadFsBatch", "deleteFsEntry"),
            )
        },
        errors=_ALWAYS,
    ),
    ("POST", "/v1/fs/move"): Operation(
        id="moveFs",
        tag="files",
        summary="Move or rename",
        description=(
            "Parents of `to` are created. With `overwrite` the destination is replaced in one step; whenever "
            "the move fails the destination is what it was."
        ),
        body=[Content(bodies.FsMove, {"from": "notes/today.txt", "to": "archive/today.txt"})],
        answers={
            200: Answer(
                "Moved",
                [
                    Content(
                        bodies.FsMoved,
                        {"from": "/home/user/notes/today.txt", "to": "/home/user/archive/today.txt"},
                    )
                ],
                links=_next("statFs", "readFsFile", path="$response.body#/to"),
            )
        },
        errors=[*_ALWAYS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
    ),
    ("GET", "/v1/fs/stat"): Operation(
        id="statFs",
        tag="files",
        summary="Look at one file or directory",
        description="Follows links; `symlink` says whether the path itself is one.",
        parameters=[_PATH],
        answers={200: Answer("What is there", [Content(bodies.FsStat, _STAT)])},
        errors=_ALWAYS,
    ),
    ("POST", "/v1/fs/upload-batch"): Operation(
        id="uploadFsBatch",
        tag="files",
        summary="Unpack a tar archive",
        description=(
            "Plain, gzip or zstd, told by its first bytes. Only regular files, directories, and links that "
            "stay inside the destination; anything else is refused by name and ends the extraction."
        ),
        parameters=[_OPTIONAL_PATH],
        body=[Content(_BYTES, media_type=_TAR)],
        body_required=False,
        answers={
            200: Answer(
                "Unpacked; the first 1024 paths",
                [Content(bodies.FsUploaded, {"paths": ["/home/user/notes/today.txt"], "truncated": False})],
                links=_next("statFs", "deleteFsEntry", path="$response.body#/paths/0"),
            )
        },
        errors=[*_ALWAYS, errors.PayloadTooLarge],
    ),
    ("GET", "/v1/fs/download"): Operation(
        id="downloadFs",
        tag="files",
        summary="Download a directory as tar",
        description="Streamed. Names are relative to the directory; links are kept as links.",
        parameters=[_PATH],
        answers={200: Answer("The archive", [Content(_BYTES, media_type=_TAR)])},
        errors=_ALWAYS,
    ),
}
