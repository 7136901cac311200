"""What the head of a POST to /v1/acp/{server_id} asks for: agent, directory, environment, waiting, its key.

Read once per head: a client that keeps its connection sends the same head with every message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.agent_starter import Bootstrap
from sandbox_agent.errors import InvalidRequest, UnsupportedAgent, UnsupportedMediaType
from sandbox_agent.http.acp.accept import check_accept
from sandbox_agent.http.messages import JSON, Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.http.services import Services

# Long enough for two UUIDs; the instance keeps the last 256 keys.
_LONGEST_KEY = 128


class PostOptions:
    __slots__ = ("_bootstrap", "_environment", "_query", "agent", "asynchronous", "idempotency_key", "wait_s")

    def __init__(self, raw_query: bytes, headers: Mapping[bytes, bytes]) -> None:
        """Raises what is wrong with the head."""
        self._query = Query(raw_query)
        self.agent = self._query.get("agent")
        check_content_type(headers)
        check_accept(headers, JSON)
        self.asynchronous, self.wait_s = _preferences(headers)
        self.idempotency_key = headers.get(b"idempotency-key")
        if self.idempotency_key is not None and len(self.idempotency_key) > _LONGEST_KEY:
            raise InvalidRequest(f"Idempotency-Key is longer than {_LONGEST_KEY} bytes")
        self._environment = headers.get(b"x-sandbox-agent-env")
        self._bootstrap: Bootstrap | None = None

    def bootstrap(self, services: Services) -> Bootstrap | None:
        """How to start an instance; None if the request names no agent."""
        if self.agent is None or self._bootstrap is not None:
            return self._bootstrap
        if self.agent not in services.catalog:
            raise UnsupportedAgent(self.agent)
        environment = None if self._environment is None else parse_environment(self._environment, services)
        self._bootstrap = Bootstrap(self.agent, self._query.get("cwd"), environment)
        return self._bootstrap


def check_content_type(headers: Mapping[bytes, bytes]) -> None:
    content_type = headers.get(b"content-type", b"")
    if content_type.partition(b";")[0].strip().lower() != JSON:
        raise UnsupportedMediaType("content-type must be application/json")


def _preferences(headers: Mapping[bytes, bytes]) -> tuple[bool, float | None]:
    """`Prefer: respond-async` and `Prefer: wait=SECONDS`; anything else is ignored."""
    asynchronous, wait_s = False, None
    for part in headers.get(b"prefer", b"").replace(b";", b",").split(b","):
        name, _, value = part.strip().partition(b"=")
        name, value = name.strip().lower(), value.strip(b' "')
        if name == b"respond-async":
            asynchronous = True
        elif name == b"wait" and value.isdigit():
            wait_s = min(float(value), 1e9)
    return asynchronous, wait_s


def parse_environment(header: bytes, services: Services) -> Mapping[str, str]:
    """`X-Sandbox-Agent-Env`: a JSON object of strings, or the name of a profile in the agents file."""
    text = header.strip()
    if text.startswith(b"{"):
        import msgspec  # loaded with the first such header

        try:
            return msgspec.json.decode(text, type=dict[str, str])
        except ValueError as error:  # of msgspec, or a text that is not UTF-8
            raise InvalidRequest(f"X-Sandbox-Agent-Env must be an object of strings: {error}") from None
    profile = services.catalog.profile(text.decode("latin-1"))
    if profile is None:
        raise InvalidRequest("X-Sandbox-Agent-Env names no profile of the agents file")
    return profile
