"""The requests of the page over an output directory.

    GET /ui/...                              the files of the page; it begins at /ui/rollouts.html
    GET /v1/rollouts                         all rows, shortened; a state tag saves sending them again
    GET /v1/rollouts/{id}                    one row and the names of its kept files
    GET /v1/rollouts/{id}/files/{name}       a kept file

Access is checked as by the server: Host, Origin and token. Nothing can be changed.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256

from sandbox_agent.cli.rollouts.file_sender import FileSender
from sandbox_agent.errors import MethodNotAllowed, NotFound
from sandbox_agent.http.access.access_check import AccessCheck
from sandbox_agent.http.endpoints.inspector import page_response
from sandbox_agent.http.http1.asgi import http_scope
from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.messages import HeaderList, Request, Response, decode_component
from sandbox_agent.rollouts.output.output_overview import OutputOverview
from sandbox_agent.runtime.loop import Loop
from sandbox_agent.sdk import json_codec

START = "/ui/rollouts.html"
_ROWS = b"/v1/rollouts"
# Agents wrote these files: a browser may neither guess their type nor run what is in them.
_FILE_HEADERS = (
    (b"content-type", b"application/octet-stream"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
    (b"content-disposition", b"attachment"),
    (b"cache-control", b"no-cache"),
)


class PageRoutes:
    """The handler of an `Http1Server`; rows and files are read in threads."""

    def __init__(self, output: OutputOverview, access: AccessCheck, loop: Loop) -> None:
        self._output = output
        self._access = access
        self._loop = loop

    def __call__(self, exchange: Exchange) -> None:
        head = exchange.head
        granted = self._access.check(head.method, head.path, head.header_map)
        if isinstance(granted, Response):
            exchange.respond(granted.status, granted.headers, granted.body)
            return
        exchange.problem_headers = granted.headers
        request = Request(http_scope(exchange, {}), _no_body)
        self._loop.in_thread(partial(self.answer, request), partial(self._respond, exchange, granted.headers))

    def answer(self, request: Request) -> Response | FileSender:
        """Raises NotFound, or MethodNotAllowed."""
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(request.method, "GET,HEAD")
        path = request.raw_path
        if path == b"/":
            return Response(302, headers=[(b"location", START.encode())])
        if path == b"/ui" or path.startswith(b"/ui/"):
            return page_response(request)
        if path == _ROWS:
            return self._rows(request)
        raw_id, *rest = path.removeprefix(_ROWS + b"/").split(b"/", 2)
        if not path.startswith(_ROWS + b"/") or (rest and (rest[0] != b"files" or len(rest) != 2)):
            raise NotFound.endpoint()
        task_id = decode_component(raw_id)
        return self._file(task_id, decode_component(rest[1])) if rest else self._row(task_id)

    def _rows(self, request: Request) -> Response:
        tag = b'"%s"' % sha256(self._output.version().encode()).hexdigest()[:32].encode()
        headers: HeaderList = [(b"etag", tag), (b"cache-control", b"no-cache")]
        if request.headers.get(b"if-none-match") == tag:
            return Response(304, headers=headers)
        body = {"output": str(self._output.path.resolve()), "rows": self._output.summaries()}
        return Response(200, json_codec.encode(body), headers, b"application/json")

    def _row(self, task_id: str) -> Response:
        row = self._output.row(task_id)
        if row is None:
            raise NotFound.resource("rollout", task_id)
        return Response.json(json_codec.encode(row))

    def _file(self, task_id: str, name: str) -> FileSender:
        path = self._output.file(task_id, name)
        if path is None:
            raise NotFound.resource("file", name)
        return FileSender(path, list(_FILE_HEADERS))

    def _respond(
        self,
        exchange: Exchange,
        headers: HeaderList,
        response: Response | FileSender | None,
        error: BaseException | None,
    ) -> None:
        if response is None:
            exchange.fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
        elif isinstance(response, FileSender):
            response.send(exchange, self._loop, headers)
        elif not exchange.client_left:
            exchange.respond(response.status, [*response.headers, *headers], response.body)


async def _no_body() -> dict[str, object]:
    return {"type": "http.disconnect"}
