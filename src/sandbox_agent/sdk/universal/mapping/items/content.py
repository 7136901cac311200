"""ACP content as parts of universal items: prompt blocks, message blocks and tool output."""

from __future__ import annotations

import difflib
from typing import Any
from urllib.parse import unquote, urlsplit

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.universal.items import ContentPart, FileRefPart, ImagePart, JsonPart, TextPart
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text


def block_text(block: Any) -> str | None:
    """The text of a text block; `None` for every other block."""
    fields = as_dict(block)
    text = fields.get("text")
    return text if fields.get("type") == "text" and isinstance(text, str) else None


def block_part(block: dict[str, Any]) -> ContentPart:
    """The part for one content block; a block without a specific part is kept as JSON."""
    text = block_text(block)
    if text is not None:
        return TextPart(text)
    kind = block.get("type")
    if kind == "image" and (as_text(block.get("uri")) or as_text(block.get("data"))):
        mime = as_text(block.get("mimeType"))
        return ImagePart(as_text(block.get("uri")) or f"data:{mime or ''}", mime)
    if kind == "resource_link" and (uri := as_text(block.get("uri"))):
        return FileRefPart(uri_path(uri), "read", None)
    if kind == "resource" and _is_json(as_dict(block.get("resource"))):
        return JsonPart(_json_of(block["resource"]["text"]))
    return JsonPart(block)


def uri_path(uri: str) -> str:
    """The path of a `file://` URI; any other URI unchanged."""
    if not uri.startswith("file://"):
        return uri
    try:
        return unquote(urlsplit(uri).path) or uri
    except ValueError:
        return uri


def diff_part(content: dict[str, Any]) -> ContentPart:
    """The part for a diff of a tool: a written or patched file. ACP v2 has the patch itself."""
    if isinstance(patch := content.get("patch"), str) and isinstance(content.get("path"), str):
        is_new = content.get("operation") == "add"
        return FileRefPart(content["path"], "write" if is_new else "patch", patch or None)
    path, old, new = content.get("path"), content.get("oldText"), content.get("newText")
    if not isinstance(path, str) or not isinstance(new, str) or not isinstance(old, str | None):
        return JsonPart(content)
    return FileRefPart(path, "write" if old is None else "patch", unified_diff(path, old or "", new))


def unified_diff(path: str, old: str, new: str) -> str:
    """A unified diff with three lines of context, in the format of `diff -u` and git."""
    name = path.lstrip("/")
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    # Only LF ends a line, as in diff; str.splitlines() has ten more separators.
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _is_json(resource: dict[str, Any]) -> bool:
    mime = (as_text(resource.get("mimeType")) or "").partition(";")[0].strip().lower()
    return isinstance(resource.get("text"), str) and (
        mime in ("application/json", "text/json") or mime.endswith("+json")
    )


def _json_of(text: str) -> Any:
    try:
        return json_codec.decode(text)
    except (ValueError, RecursionError):
        return text
