"""Asks a server on this machine whether it is well, without a client library."""

from __future__ import annotations

import http.client
from dataclasses import dataclass

_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Health:
    answers: bool
    accepts_token: bool
    """False for a server that wants another token: it is up, but it is not ours."""

    @property
    def good(self) -> bool:
        return self.answers and self.accepts_token


def ask(host: str, port: int, token: str | None) -> Health:
    """`GET /v1/health` within two seconds."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host.strip("[]"), host.strip("[]"))  # noqa: S104
    connection = http.client.HTTPConnection(address, port, timeout=_PATIENCE_S)
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
