"""The health check of a server on this machine, without the client library."""

from __future__ import annotations

import http.client
from dataclasses import dataclass

_LIMIT_S = 2.0


@dataclass(frozen=True)
class Health:
    answers: bool
    accepts_token: bool
    """False for a server with another token: it is up, but it is not this daemon."""

    @property
    def is_healthy(self) -> bool:
        return self.answers and self.accepts_token


def check_health(host: str, port: int, token: str | None) -> Health:
    """`GET /v1/health` within two seconds."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host.strip("[]"), host.strip("[]"))  # noqa: S104
    connection = http.client.HTTPConnection(address, port, timeout=_LIMIT_S)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", "/v1/health", headers=headers)
        answer = connection.getresponse()
        body = answer.read(1024)
    except (OSError, http.client.HTTPException):
        return Health(False, False)
    finally:
        connection.close()
    return Health(True, answer.status == 200 and b'"ok"' in body)
