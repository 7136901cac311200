"""The access check of every request: Host, Origin, Sec-Fetch-Site, CORS, token.

It sees method, path and headers only, and runs once per request: in `direct_routes` for the server command,
which passes the result on to the ASGI application, or in the application itself under another server.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sandbox_agent.errors import (
    ForbiddenOrigin,
    InvalidRequest,
    MisdirectedRequest,
    SandboxAgentError,
    TokenInvalid,
)
from sandbox_agent.http.loopback import is_loopback
from sandbox_agent.http.messages import HeaderList, Response
from sandbox_agent.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sandbox_agent.http.access.tickets import Share, Tickets

COMMON_HEADERS: HeaderList = [
    (b"vary", b"origin, access-control-request-method, access-control-request-headers"),
    # Otherwise a page of another site could load a file as a script, whatever its content type is.
    (b"x-content-type-options", b"nosniff"),
    # Concerns requests without CORS only; pages that CORS allows read responses in spite of it.
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""Headers of every response."""
ACCESS_EXTENSION = "sandbox_agent.access"
"""The ASGI extension that carries the `AccessGranted` of a request that has been checked."""
_OTHER_SITES = frozenset((b"cross-site", b"same-site"))
_LOOPBACK_NAMES = frozenset((b"localhost", b"127.0.0.1", b"[::1]"))
_HOST_BYTES = b"abcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=%[]:"
_ORIGIN = r"(?ai)[a-z][a-z0-9+.-]*://[^/\s?#]+"
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


class AccessGranted:
    """The request may be handled; every response to it gets `headers` too."""

    __slots__ = ("cors", "headers", "without_token")

    def __init__(self, cors: HeaderList, *, without_token: bool = False) -> None:
        self.cors = cors
        self.without_token = without_token
        """The request has no token, or a ticket instead: it does not renew the lease of the server."""
        self.headers = [*COMMON_HEADERS, *cors]

    def add_cors_to(self, error: SandboxAgentError) -> None:
        """Let a page of an allowed origin read the problem document."""
        error.headers |= {name.decode(): value.decode("latin-1") for name, value in self.cors}


SAME_ORIGIN = AccessGranted([])
"""The result for a request without an Origin, and for pages of this server."""


class AccessCheck:
    def __init__(self, settings: Settings) -> None:
        self._token = settings.token.encode() if settings.token else None
        self._hosts = self._allowed_hosts(settings)
        self._cors = _Cors(settings)

    @cached_property
    def tickets(self) -> Tickets:
        from sandbox_agent.http.access.tickets import Tickets  # loaded with the first ticket

        return Tickets()

    @staticmethod
    def _allowed_hosts(settings: Settings) -> frozenset[bytes] | None:
        """Names that a Host header may have; None for any. Loopback names cannot belong to another site."""
        named = frozenset(_without_port(name.encode()) for name in settings.allow_host) - {b""}
        if named or is_loopback(settings.host):
            return named | _LOOPBACK_NAMES
        return None

    def check(
        self,
        method: str,
        path: bytes,
        headers: Mapping[bytes, bytes],
        other_tokens: Iterable[bytes] = (),
        query: bytes = b"",
    ) -> AccessGranted | Response:
        """Grant access, or answer a CORS preflight; `other_tokens` count beside that of the headers.

        Raises MisdirectedRequest, InvalidRequest for a Host that is none where all are allowed,
        ForbiddenOrigin, or TokenInvalid, which carries CORS headers.
        """
        host = headers.get(b"host", b"")
        name = _without_port(host)
        if self._hosts is None:
            if host and (not name or name.translate(None, _HOST_BYTES)):
                raise InvalidRequest("the Host header does not name a host")
        elif name not in self._hosts:
            raise MisdirectedRequest(host.decode("latin-1"))
        origin = headers.get(b"origin")
        granted = SAME_ORIGIN if origin is None else self._cors.check(origin, host)
        if granted is SAME_ORIGIN and headers.get(b"sec-fetch-site") in _OTHER_SITES and _is_protected(path):
            # A page loads images, scripts and links without an Origin.
            raise ForbiddenOrigin("a page of another site" if origin is None else origin.decode("latin-1"))
        # Browsers send no token with a preflight; OPTIONS without an Origin lists the methods.
        if method == "OPTIONS" and origin is not None:
            return Response(200, headers=[*granted.headers, *self._cors.preflight(headers)])
        if self._token is None:
            return granted
        if method == "OPTIONS" or not _is_protected(path):
            return AccessGranted(granted.cors, without_token=True)
        given = _bearer_token(headers)
        if self._token_fits(given, path, other_tokens):
            return granted
        if given is not None and self.tickets.admits(given, method, path, query):
            return AccessGranted(granted.cors, without_token=True)
        error = TokenInvalid()
        granted.add_cors_to(error)
        raise error

    def _token_fits(self, given: bytes | None, path: bytes, other_tokens: Iterable[bytes]) -> bool:
        expected = self._token or b""
        if given is not None and equal_in_constant_time(given, expected):
            return True
        return any(
            equal_in_constant_time(other, expected) or self.tickets.redeem(other, path)
            for other in other_tokens
        )

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def share_of(self, headers: Mapping[bytes, bytes]) -> Share | None:
        """The share whose ticket a request was sent with instead of the token."""
        ticket = _bearer_token(headers) if self._token is not None else None
        return None if ticket is None else self.tickets.find_share(ticket)


def _bearer_token(headers: Mapping[bytes, bytes]) -> bytes | None:
    scheme, _, token = headers.get(b"authorization", b"").strip().partition(b" ")
    return token.strip() if scheme.lower() in (b"bearer", b"token") else None


def _is_protected(path: bytes) -> bool:
    return path in (b"/v1", b"/acp") or path.startswith((b"/v1/", b"/acp/"))


def _without_port(host: bytes) -> bytes:
    """The name in a Host header in lower case; empty if anything but a port follows it."""
    host = host.lower()
    end = host.find(b"]") + 1 if host.startswith(b"[") else host.find(b":")
    if end < 0:
        return host
    name, colon, port = host[:end], host[end : end + 1], host[end + 1 :]
    return name if colon in (b"", b":") and (not port or port.isdigit()) else b""


def _check_cors(settings: Settings) -> None:
    import re  # only with CORS settings

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
        """Allowed methods and headers: as set, else all. With credentials, browsers ignore `*`."""
        methods = headers.get(b"access-control-request-method", b"*") if self._credentials else b"*"
        names = headers.get(b"access-control-request-headers", b"*") if self._credentials else b"*"
        return [
            (b"access-control-allow-methods", self._methods or methods),
            (b"access-control-allow-headers", self._headers or names),
        ]

    def check(self, origin: bytes, host: bytes) -> AccessGranted:
        if self._every or origin.lower() in self._origins:
            headers: HeaderList = [(b"access-control-allow-origin", origin)]
            if self._credentials:
                headers.append((b"access-control-allow-credentials", b"true"))
            return AccessGranted(headers)
        # The inspector has the server's own host and port; a proxy may have changed the scheme.
        if origin.lower().partition(b"://")[2] == host.lower() and origin.lower() != b"null":
            return SAME_ORIGIN
        raise ForbiddenOrigin(origin.decode("latin-1"))


def equal_in_constant_time(given: bytes, expected: bytes) -> bool:
    """Compare every byte of `given`, so that the time says nothing about the bytes of `expected`.

    `hmac.compare_digest` does the same, but importing hmac loads OpenSSL: 3.7 MB and 3 ms at start-up.
    """
    difference = len(given) ^ len(expected)
    for a, b in zip(given, expected.ljust(len(given), b"\0"), strict=False):
        difference |= a ^ b
    return difference == 0
