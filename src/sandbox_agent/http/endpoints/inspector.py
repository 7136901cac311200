"""The inspector page at `/ui`: files built from `inspector/`, served with the right caching and headers.

Needs no token: the page holds nothing secret, its calls to `/v1` do. A missing file under `/ui/assets/` is
404; every other path answers with the page, which reads the path itself. Large files are stored compressed
beside the plain ones, and the best form that the client takes is sent. File reads run in threads and are
remembered until the file changes. Without a built page, `/ui/` says how to get it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox_agent.errors import NotFound
from sandbox_agent.http.messages import HeaderList, Request, Response

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

PAGE_DIRECTORY = Path(__file__).parents[2] / "page"

# Vite puts a hash of the content into these names, so a copy never goes out of date.
_ASSET_CACHE = b"public, max-age=31536000, immutable"
_PAGE_CACHE = b"no-cache"
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_REFUSED = re.compile(r"q=0(\.0{0,3})?")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?")
_MEDIA_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}

# Names of content codings and of the files that have them, the smallest first.
_CODINGS = (("br", ".br"), ("gzip", ".gz"))

_MISSING_PAGE = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sandbox Agent inspector</title></head><body>
<h1>The inspector page is not built</h1>
<p>The server works; only this page is missing from the installation. With Node 20 or newer and a copy of the
source, build it and reload:</p>
<pre>cd inspector
npm ci
npm run build</pre>
<p>Released wheels contain the page: <code>pip install --force-reinstall sandbox-agent</code>.</p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class _PageFile:
    body: bytes
    etag: bytes
    modified_ns: int
    coding: str | None = None


_files: dict[Path, _PageFile] = {}


def _accepted_codings(header: bytes) -> frozenset[str]:
    """The codings of an Accept-Encoding header that are not refused with `q=0`."""
    accepted = set()
    for part in header.decode("latin-1").lower().split(","):
        name, _, weight = part.partition(";")
        if not _REFUSED.fullmatch(weight.strip()):
            accepted.add(name.strip())
    return frozenset(accepted)


def _read_best(path: Path, accepted: frozenset[str]) -> _PageFile | None:
    """The smallest form of a file that the client takes."""
    for coding, suffix in _CODINGS:
        if coding in accepted:
            found = _read(path.with_name(path.name + suffix), coding)
            if found is not None:
                return found
    return _read(path)


def _read(path: Path, coding: str | None = None) -> _PageFile | None:
    try:
        modified_ns = path.stat().st_mtime_ns
        known = _files.get(path)
        if known is not None and known.modified_ns == modified_ns:
            return known
        body = path.read_bytes()
    except OSError:
        return None
    etag = b'"%s"' % sha256(body).hexdigest()[:32].encode()
    _files[path] = found = _PageFile(body, etag, modified_ns, coding)
    return found


def _policy(request: Request) -> bytes:
    """No inline script, nothing from elsewhere. `?url=` names the one other endpoint the page may call."""
    url = request.query.get("url")
    origin = _ORIGIN.match(url) if url else None
    # `'self'` includes the WebSockets of this server; those of another one have to be named.
    named = f" {origin.group()} ws{origin.group().removeprefix('http')}" if origin else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        f"font-src 'self'; connect-src 'self'{named}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ).encode()


def _headers(request: Request, cache: bytes) -> HeaderList:
    return [
        (b"cache-control", cache),
        (b"content-security-policy", _policy(request)),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"referrer-policy", b"no-referrer"),
        (b"vary", b"accept-encoding"),
        (b"x-frame-options", b"DENY"),
    ]


def _page_file(raw_path: bytes) -> tuple[Path, bytes]:
    """Which file a path means, and how long it may be kept."""
    inside = raw_path.decode("latin-1").removeprefix("/ui").removeprefix("/")
    folder, slash, name = inside.rpartition("/")
    if folder == "assets" and slash and _FILE_NAME.fullmatch(name):
        return PAGE_DIRECTORY / "assets" / name, _ASSET_CACHE
    if inside.startswith("assets/"):
        raise NotFound.resource("path", f"/ui/{inside}")
    if not folder and _FILE_NAME.fullmatch(name) and (PAGE_DIRECTORY / name).suffix in _MEDIA_TYPES:
        return PAGE_DIRECTORY / name, _PAGE_CACHE
    return PAGE_DIRECTORY / "index.html", _PAGE_CACHE


async def serve_inspector(request: Request, services: Services) -> Response:
    """`GET /ui`, `/ui/` and everything below."""
    return await asyncio.to_thread(page_response, request)


def page_response(request: Request) -> Response:
    """A file of the page; reads the disk. Raises NotFound."""
    path, cache = _page_file(request.raw_path)
    accepted = _accepted_codings(request.headers.get(b"accept-encoding", b""))
    found = _read_best(path, accepted)
    if found is None and path.parent.name == "assets":
        raise NotFound.resource("path", f"/ui/assets/{path.name}")
    if found is None:
        path = PAGE_DIRECTORY / "index.html"
        found = _read(path)
    headers = _headers(request, cache)
    if found is None:
        return Response(200, _MISSING_PAGE, headers, _MEDIA_TYPES[".html"])
    headers.append((b"etag", found.etag))
    if found.coding is not None:
        headers.append((b"content-encoding", found.coding.encode()))
    if request.headers.get(b"if-none-match") == found.etag:
        return Response(304, b"", headers)
    return Response(200, found.body, headers, _MEDIA_TYPES.get(path.suffix, b"application/octet-stream"))
