"""ACP content blocks of a prompt, and files of the sandbox attached to it."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from posixpath import isabs, join, normpath
from typing import Any
from urllib.parse import quote

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.universal import meta

Block = dict[str, Any]
Prompt = str | Sequence[str | Mapping[str, Any] | Any]
"""Text, or a list of texts and content blocks (plain JSON, or models of the official ACP package)."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in the sandbox attached to a prompt; a relative path starts at the session's directory."""

    path: str
    mime: str | None = None
    filename: str | None = None
    embed: bool = False
    """Send the content itself instead of a link."""


AttachmentLike = Attachment | str | PathLike[str] | Mapping[str, Any]
"""A file of the sandbox by its path, or a content block such as `resource_link(...)`."""


def text(content: str) -> Block:
    """A text block."""
    return {"type": "text", "text": content}


def image(source: str | PathLike[str] | bytes, mime: str | None = None) -> Block:
    """An image block from bytes or from a file on this machine."""
    if isinstance(source, bytes):
        data, kind = source, mime or "image/png"
    else:
        data = Path(source).read_bytes()
        kind = mime or mimetypes.guess_type(fspath(source))[0] or "image/png"
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": kind}


def resource_link(target: str | PathLike[str], *, name: str | None = None, mime: str | None = None) -> Block:
    """A link to a URI, or to an absolute path in the sandbox. Raises ValueError for a relative path."""
    address = fspath(target)
    uri = _uri(address)
    block: Block = {"type": "resource_link", "uri": uri, "name": name or uri.rstrip("/").rpartition("/")[2]}
    return {**block, "mimeType": mime} if mime else block


def resource(uri: str | PathLike[str], content: str | bytes, *, mime: str | None = None) -> Block:
    """A resource block that contains its content. Raises ValueError for a relative path."""
    inner: Block = {"uri": _uri(fspath(uri))}
    if mime:
        inner["mimeType"] = mime
    if isinstance(content, str):
        inner["text"] = content
    else:
        inner["blob"] = base64.b64encode(content).decode()
    return {"type": "resource", "resource": inner}


def _uri(address: str) -> str:
    """A URI as it is, and the `file://` address of an absolute path in the sandbox."""
    if "://" in address:
        return address
    if not isabs(address):
        raise ValueError(
            f"{address!r} is neither a URI nor an absolute path in the sandbox; "
            "`attachments` takes paths relative to the directory of the session"
        )
    return "file://" + quote(address)


def prompt_blocks(prompt: Prompt) -> list[Block]:
    """The content blocks of a prompt."""
    if isinstance(prompt, str):
        return [text(prompt)]
    parts = [prompt] if isinstance(prompt, Mapping) or hasattr(prompt, "model_dump") else prompt
    if not isinstance(parts, Iterable) or isinstance(parts, bytes):
        raise TypeError(f"a prompt is a text, or a list of texts and content blocks, not {prompt!r}")
    return [text(part) if isinstance(part, str) else _block(part) for part in parts]


def _block(part: Any) -> Block:
    block = json_codec.plain(part)
    if not isinstance(block, dict) or "type" not in block:
        raise TypeError(f"a part of a prompt is a text or a content block such as text('...'), not {part!r}")
    return block


def as_attachment(value: Attachment | str | PathLike[str], directory: str) -> Attachment:
    """An attachment with an absolute path, and a MIME type if the name implies one."""
    given = value if isinstance(value, Attachment) else Attachment(fspath(value))
    path = given.path if isabs(given.path) else normpath(join(directory, given.path))
    mime = given.mime or mimetypes.guess_type(path)[0]
    return Attachment(path, mime, given.filename, given.embed)


def attachment_block(attachment: Attachment, content: bytes | None = None) -> Block:
    """The block for an attachment: a link, or with `content` the file itself."""
    name = attachment.filename or attachment.path.rpartition("/")[2]
    if content is None:
        block = resource_link(attachment.path, name=name, mime=attachment.mime)
    else:
        block = resource(attachment.path, _as_text(content), mime=attachment.mime)
    return meta.with_filename(block, attachment.filename) if attachment.filename else block


def _as_text(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
