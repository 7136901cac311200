"""The route table. Handlers are named, not imported: a handler is loaded with its first request."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest, MethodNotAllowed, NotFound, SandboxAgentError
from sandbox_agent.http.messages import decode_segment

if TYPE_CHECKING:
    from typing import Any

WEBSOCKET = "WS"
"""The method of a WebSocket in the table."""
# In the order in which `Allow` names them.
_METHODS = ("POST", "GET", "HEAD", "PUT", "DELETE")

# `raw` routes speak ASGI themselves; `{name}` is one percent-encoded path segment; a final `*` is any rest.
# `WS` is a WebSocket, beside the methods of HTTP on its path.
TABLE = """
GET     /                               endpoints.health:index
GET     /openapi.json                   endpoints.api_docs:openapi
GET     /docs                           endpoints.api_docs:page
GET     /ui                             endpoints.inspector:serve_inspector
GET     /ui/*                           endpoints.inspector:serve_inspector
GET     /v1/health                      endpoints.health:health
GET     /v1/acp                         acp.asgi_handlers:list_instances
POST    /v1/acp/{server_id}             acp.asgi_handlers:post_message raw
GET     /v1/acp/{server_id}             acp.asgi_handlers:open_stream raw
DELETE  /v1/acp/{server_id}             acp.asgi_handlers:close_instance
GET     /v1/acp/{server_id}/shares      endpoints.shares:list_shares
POST    /v1/acp/{server_id}/shares      endpoints.shares:create_share
DELETE  /v1/acp/{server_id}/shares/{share_id} endpoints.shares:revoke_share
POST    /acp                            acp_remote.asgi_handlers:post_message raw
GET     /acp                            acp_remote.asgi_handlers:open_stream raw
DELETE  /acp                            acp_remote.asgi_handlers:close_connection
WS      /acp                            acp_remote.websocket.websocket_handler:connect
WS      /acp/{agent}                    acp_remote.websocket.websocket_handler:connect
POST    /acp/{agent}                    acp_remote.asgi_handlers:post_message_to_agent raw
GET     /acp/{agent}                    acp_remote.asgi_handlers:open_stream_of_agent raw
DELETE  /acp/{agent}                    acp_remote.asgi_handlers:close_connection_of_agent
GET     /v1/events                      acp.asgi_handlers:open_events raw
GET     /v1/agents                      endpoints.agents.agents:list_agents
GET     /v1/agents/{agent}              endpoints.agents.agents:show_agent
POST    /v1/agents/{agent}/install      endpoints.agents.agents:install_agent
GET     /v1/fs/entries                  endpoints.files.files:list_entries
GET     /v1/fs/file                     endpoints.files.files:read_file
PUT     /v1/fs/file                     endpoints.files.files:write_file
DELETE  /v1/fs/entry                    endpoints.files.files:delete_entry
POST    /v1/fs/mkdir                    endpoints.files.files:make_directory
POST    /v1/fs/move                     endpoints.files.files:move_entry
GET     /v1/fs/stat                     endpoints.files.files:stat_path
POST    /v1/fs/upload-batch             endpoints.files.files:upload_batch
GET     /v1/fs/download                 endpoints.files.files:download_directory
GET     /v1/fs/watch                    endpoints.files.file_watch:watch_directory
GET     /v1/git/status                  endpoints.git:show_status
GET     /v1/git/diff                    endpoints.git:show_diff
GET     /v1/git/log                     endpoints.git:show_log
GET     /v1/system                      endpoints.system:show_system
GET     /v1/processes                   endpoints.processes.lifecycle:list_processes
POST    /v1/processes                   endpoints.processes.lifecycle:create_process
GET     /v1/processes/config            endpoints.processes.process_config:get_config
POST    /v1/processes/config            endpoints.processes.process_config:set_config
POST    /v1/processes/run               endpoints.processes.run:run_process
GET     /v1/processes/{process_id}      endpoints.processes.lifecycle:get_process
DELETE  /v1/processes/{process_id}      endpoints.processes.lifecycle:delete_process
POST    /v1/processes/{process_id}/stop endpoints.processes.lifecycle:stop_process
POST    /v1/processes/{process_id}/kill endpoints.processes.lifecycle:kill_process
POST    /v1/processes/{process_id}/input endpoints.processes.input:send_input
GET     /v1/processes/{process_id}/logs endpoints.processes.logs:get_logs
POST    /v1/processes/{process_id}/terminal/resize endpoints.processes.terminal:resize_terminal
POST    /v1/processes/{process_id}/terminal/ticket endpoints.processes.terminal:make_ticket
WS      /v1/processes/{process_id}/terminal/ws endpoints.processes.terminal:attach_terminal
PUT     /v1/tool-relays/{relay_id}      tool_relays.handlers:open_relay
GET     /v1/tool-relays/{relay_id}      tool_relays.handlers:read_calls
DELETE  /v1/tool-relays/{relay_id}      tool_relays.handlers:close_relay
POST    /v1/tool-relays/{relay_id}/calls tool_relays.handlers:post_call
POST    /v1/tool-relays/{relay_id}/answers/{call} tool_relays.handlers:answer_call
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
        self.websocket: Route | None = None
        self.allow = ""

    def add(self, route: Route) -> None:
        if route.method == WEBSOCKET:
            self.websocket = route
            return
        self.methods[route.method] = route
        if route.method == "GET":
            self.methods["HEAD"] = route
        self.allow = ",".join(method for method in _METHODS if method in self.methods)

    def refusal(self, method: str) -> SandboxAgentError:
        """Why the path has no route for this method."""
        if method == WEBSOCKET:
            return InvalidRequest("this is not a WebSocket endpoint")
        if self.websocket is not None and method in ("GET", "HEAD"):
            return InvalidRequest(
                "this is a WebSocket endpoint: the request has to be an upgrade to websocket"
            )
        return MethodNotAllowed(method, self.allow or "GET")


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

    def has_websocket(self, raw_path: bytes) -> bool:
        try:
            return self._find(raw_path)[0].websocket is not None
        except NotFound:
            return False

    def match(self, method: str, raw_path: bytes) -> tuple[Route, Any, tuple[str, ...]]:
        """The route, its handler and the decoded path parameters.

        Raises NotFound, MethodNotAllowed, or InvalidRequest for a WebSocket where there is none.
        """
        path, raw_params = self._find(raw_path)
        route = path.websocket if method == WEBSOCKET else path.methods.get(method)
        if route is None:
            raise path.refusal(method)
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
