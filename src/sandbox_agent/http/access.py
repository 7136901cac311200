"""What every request has to pass before anything else looks at it: Host, Origin, CORS, token.

Pure: it sees method, path and headers and answers with extra response headers, with a finished answer (a
CORS preflight), or with an error. Both doors of the server, the ASGI application and the quick way, ask it.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from sandbox_agent.errors import ForbiddenOrigin, MisdirectedRequest, TokenInvalid
from sandbox_agent.http.messages import HeaderList, Response
from sandbox_agent.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

VARY = (b"vary", b"origin, access-control-request-method, access-control-request-headers")
_LOOPBACK_NAMES = frozenset((b"localhost", b"127.0.0.1", b"[::1]"))
_ORIGIN = r"(?ai)[a-z][a-z0-9+.-]*://[^/\s?#]+"
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")


class Passed:
    """The request may go on; the response gets these headers too."""

    __slots__ = ("headers",)

    def __init__(self, headers: HeaderList) -> None:
        self.headers = headers


PLAIN = Passed([VARY])
"""What a request without an Origin gets."""


class AccessCheck:
    def __init__(self, settings: Settings) -> None:
        self._token = settings.token.encode() if settings.token else None
        self._hosts = self._allowed_hosts(settings)
        self._cors = _Cors(settings)

    @staticmethod
    def _allowed_hosts(settings: Settings) -> frozenset[bytes] | None:
        """Names the server answers to; None for any. Loopback names are harmless: no other site has them."""
        named = frozenset(_without_port(name.encode()) for name in settings.allow_host) - {b""}
        if named or is_loopback(settings.host):
            return named | _LOOPBACK_NAMES
        return None

    def check(self, method: str, path: bytes, headers: Mapping[bytes, bytes]) -> Passed | Response:
        """Raises MisdirectedRequest, ForbiddenOrigin or TokenInvalid; the latter carries CORS headers."""
        host = headers.get(b"host", b"")
        if self._hosts is not None and _without_port(host) not in self._hosts:
            raise MisdirectedRequest(host.decode("latin-1"))
        origin = headers.get(b"origin")
        passed = PLAIN if origin is None else self._cors.check(origin, host)
        if method == "OPTIONS":
            # Browsers send no token with a preflight; without an Origin it only asks for the methods.
            if origin is None:
                return passed
            return Response(200, headers=[*passed.headers, *self._cors.preflight(headers)])
        if self._token is not None and _is_protected(path) and not self._token_fits(headers):
            error = TokenInvalid()
            error.headers |= {
                name.decode(): value.decode() for name, value in passed.headers if name != VARY[0]
            }
            raise error
        return passed

    def _token_fits(self, headers: Mapping[bytes, bytes]) -> bool:
        scheme, _, token = headers.get(b"authorization", b"").strip().partition(b" ")
        known = scheme.lower() in (b"bearer", b"token")
        return hmac.compare_digest(token.strip(), self._token or b"") and known


def _is_protected(path: bytes) -> bool:
    return path == b"/v1" or path.startswith(b"/v1/")


def _without_port(host: bytes) -> bytes:
    """The name in a Host header, in lower case; empty when what follows it is no port."""
    name, bracket, rest = host.lower().partition(b"]") if host.startswith(b"[") else (host.lower(), b"", b"")
    if not bracket:
        name, _, rest = name.partition(b":")
    port = rest.removeprefix(b":")
    return name + bracket if not port or port.isdigit() else b""


def _check_cors(settings: Settings) -> None:
    import re  # only for those who let other sites in

    for origin in settings.cors_allow_origin:
        if origin != "*" and not re.fullmatch(_ORIGIN, origin):
            raise SettingsError(f"--cors-allow-origin: '{origin}' is not an origin like https://example.com")
    for name in (*settings.cors_allow_method, *settings.cors_allow_header):
        if name != "*" and not re.fullmatch(_NAME, name):
            raise SettingsError(f"'{name}' is not the name of a method or header")


class _Cors:
    def __init__(self, settings: Settings) -> None:
        if settings.cors_allow_origin or settings.cors_allow_method or settings.cors_allow_header:
            _check_cors(settings)
        self._every = "*" in settings.cors_allow_origin
        self._origins = frozenset(origin.encode().lower() for origin in settings.cors_allow_origin)
        self._credentials = settings.cors_allow_credentials
        self._methods = ",".join(settings.cors_allow_method).encode()
        self._headers = ",".join(settings.cors_allow_header).encode()

    def preflight(self, headers: Mapping[bytes, bytes]) -> HeaderList:
        """What the page may do: as listed, else everything. Browsers read no `*` where credentials are on."""
        methods = headers.get(b"access-control-request-method", b"*") if self._credentials else b"*"
        names = headers.get(b"access-control-request-headers", b"*") if self._credentials else b"*"
        return [
            (b"access-control-allow-methods", self._methods or methods),
            (b"access-control-allow-headers", self._headers or names),
        ]

    def check(self, origin: bytes, host: bytes) -> Passed:
        if self._every or origin.lower() in self._origins:
            headers = [VARY, (b"access-control-allow-origin", origin)]
            if self._credentials:
                headers.append((b"access-control-allow-credentials", b"true"))
            return Passed(headers)
        # The inspector's own page: same host and port, however the scheme was seen by a proxy in front.
        if origin.lower().partition(b"://")[2] == host.lower() and origin.lower() != b"null":
            return Passed([VARY])
        raise ForbiddenOrigin(origin.decode("latin-1"))
