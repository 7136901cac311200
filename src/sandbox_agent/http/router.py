"""The route table. Handlers are named, not imported: a handler is loaded with its first request."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest, MethodNotAllowed, NotFound
from sandbox_agent.http.messages import decode_component

if TYPE_CHECKING:
    from typing import Any

MAX_SEGMENT_BYTES = 1024
# In the order in which `Allow` names them.
_METHODS = ("POST", "GET", "HEAD", "PUT", "DELETE")

# `raw` routes speak ASGI themselves; `{name}` is one percent-encoded path segment; a final `*` is any rest.
TABLE = """
GET     /                               endpoints.health:index
GET     /openapi.json                   endpoints.api_docs:openapi
GET     /docs                           endpoints.api_docs:page
GET     /ui                             endpoints.inspector:serve_inspector
GET     /ui/*                           endpoints.inspector:serve_inspector
GET     /v1/health                      endpoints.health:health
GET     /v1/acp                         acp.handlers:list_instances
POST    /v1/acp/{server_id}             acp.handlers:post_message raw
GET     /v1/acp/{server_id}             acp.handlers:open_stream raw
DELETE  /v1/acp/{server_id}             acp.handlers:close_instance
GET     /v1/agents                      endpoints.agents:list_agents
GET     /v1/agents/{agent}              endpoints.agents:show_agent
POST    /v1/agents/{agent}/install      endpoints.agents:install_agent
GET     /v1/fs/entries                  endpoints.files:list_entries
GET     /v1/fs/file                     endpoints.files:read_file
PUT     /v1/fs/file                     endpoints.files:write_file
DELETE  /v1/fs/entry                    endpoints.files:delete_entry
POST    /v1/fs/mkdir                    endpoints.files:make_directory
POST    /v1/fs/move                     endpoints.files:move_entry
GET     /v1/fs/stat                     endpoints.files:stat_path
POST    /v1/fs/upload-batch             endpoints.files:upload_batch
GET     /v1/fs/download                 endpoints.files:download_directory
GET     /v1/config/mcp                  endpoints.config:get_mcp
PUT     /v1/config/mcp                  endpoints.config:put_mcp
DELETE  /v1/config/mcp                  endpoints.config:delete_mcp
GET     /v1/config/mcp/entries          endpoints.config:list_mcp
GET     /v1/config/skills               endpoints.config:get_skills
PUT     /v1/config/skills               endpoints.config:put_skills
DELETE  /v1/config/skills               endpoints.config:delete_skills
GET     /v1/config/skills/entries       endpoints.config:list_skills
"""


class Route:
    __slots__ = ("handler", "is_raw", "method", "path")

    def __init__(self, method: str, path: str, handler: str, is_raw: bool) -> None:
        self.method = method
        self.path = path
        self.handler = handler
        self.is_raw = is_raw

    def load(self) -> Any:
        module, _, name = self.handler.partition(":")
        module = f"sandbox_agent.http.{module}"
        __import__(module)
        return getattr(sys.modules[module], name)


ROUTES = tuple(
    Route(words[0], words[1], words[2], "raw" in words[3:])
    for words in (line.split() for line in TABLE.strip().splitlines())
)


class _Path:
    """One path template with its methods."""

    def __init__(self, template: str) -> None:
        self.segments = template.encode().split(b"/")
        self.methods: dict[str, Route] = {}
        self.allow = ""

    def add(self, route: Route) -> None:
        self.methods[route.method] = route
        if route.method == "GET":
            self.methods["HEAD"] = route
        self.allow = ",".join(method for method in _METHODS if method in self.methods)


class Router:
    """Finds the route of a raw path."""

    def __init__(self) -> None:
        self._static: dict[bytes, _Path] = {}
        self._patterns: list[_Path] = []
        self._handlers: dict[Route, Any] = {}
        paths: dict[str, _Path] = {}
        for route in ROUTES:
            path = paths.setdefault(route.path, _Path(route.path))
            path.add(route)
        for template, path in paths.items():
            if "{" in template or "*" in template:
                self._patterns.append(path)
            else:
                self._static[template.encode()] = path

    def allow(self, raw_path: bytes) -> str:
        """The methods of a path, or of the server for `*`. Raises NotFound."""
        if raw_path == b"*":
            return ",".join(_METHODS)
        return self._find(raw_path)[0].allow

    def match(self, method: str, raw_path: bytes) -> tuple[Route, Any, tuple[str, ...]]:
        """The route, its handler and the decoded path parameters. Raises NotFound or MethodNotAllowed."""
        path, raw_params = self._find(raw_path)
        route = path.methods.get(method)
        if route is None:
            raise MethodNotAllowed(method, path.allow)
        params = tuple(decode_segment(raw) for raw in raw_params)
        handler = self._handlers.get(route)
        if handler is None:
            handler = self._handlers[route] = route.load()
        return route, handler, params

    def _find(self, raw_path: bytes) -> tuple[_Path, tuple[bytes, ...]]:
        path = self._static.get(raw_path)
        if path is not None:
            return path, ()
        segments = raw_path.split(b"/")
        for path in self._patterns:
            params = _match(path.segments, segments)
            if params is not None:
                return path, params
        raise NotFound.endpoint()


def _match(pattern: list[bytes], segments: list[bytes]) -> tuple[bytes, ...] | None:
    params: list[bytes] = []
    for index, part in enumerate(pattern):
        if part == b"*":
            return tuple(params)
        if index >= len(segments):
            return None
        if part.startswith(b"{"):
            if not segments[index]:
                return None
            params.append(segments[index])
        elif part != segments[index]:
            return None
    return tuple(params) if len(pattern) == len(segments) else None


def decode_segment(raw: bytes) -> str:
    text = decode_component(raw)
    if len(text.encode()) > MAX_SEGMENT_BYTES:
        raise InvalidRequest(f"a path segment may have {MAX_SEGMENT_BYTES} bytes at most")
    return text
