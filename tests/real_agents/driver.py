"""A small ACP client for tests that uses one instance of an agent through the server's public API.

It keeps all messages, answers the agent's requests by policies that the test can change, and bounds every
wait.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

ANSWER_LIMIT_S = 60.0
INSTALL_LIMIT_S = 900.0
_REQUESTS = itertools.count(1)


async def install(http: httpx.AsyncClient, agent: str, **versions: str) -> dict[str, Any]:
    """Install an agent, if it is missing or has other versions; returns the answer."""
    answer = await http.post(f"/v1/agents/{agent}/install", json=versions, timeout=INSTALL_LIMIT_S)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


class AgentError(Exception):
    """The agent answered with a JSON-RPC error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')} {error.get('data', '')}")
        self.code = error.get("code")


def choose(params: Mapping[str, Any], *kinds: str) -> dict[str, Any]:
    """The answer to a permission request: the first option of one of these kinds."""
    for kind in kinds:
        for option in params["options"]:
            if option["kind"] == kind:
                return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    raise AssertionError(f"none of {kinds} among {params['options']}")


def allow(params: Mapping[str, Any]) -> dict[str, Any]:
    return choose(params, "allow_once", "allow_always")


def reject(params: Mapping[str, Any]) -> dict[str, Any]:
    return choose(params, "reject_once", "reject_always")


Policy = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
"""From the params of a request of the agent to its result; None leaves it unanswered."""


@dataclass
class Turn:
    """The result of a prompt and the messages of its turn."""

    stop_reason: str
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def updates(self) -> list[dict[str, Any]]:
        return [m["params"]["update"] for m in self.messages if m.get("method") == "session/update"]

    def text(self, kind: str = "agent_message_chunk") -> str:
        chunks = [update for update in self.updates if update["sessionUpdate"] == kind]
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"].startswith("tool_call")]

    def requests(self, method: str) -> list[dict[str, Any]]:
        return [m["params"] for m in self.messages if m.get("method") == method and "id" in m]


class Driver:
    """One instance of an agent. Use as an async context manager; leaving it sends DELETE."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        server_id: str,
        agent: str,
        *,
        cwd: str,
        env: Mapping[str, str],
    ) -> None:
        self._http, self._agent = http, agent
        self._url = f"/v1/acp/{server_id}"
        self._cwd, self._env = cwd, dict(env)
        self._messages: list[dict[str, Any]] = []
        self._news = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None
        self.longest_line = 0
        self.policies: dict[str, Policy] = {"session/request_permission": allow}

    async def __aenter__(self) -> Driver:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.delete()

    async def start(self, *, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Create the instance with `initialize`, then read its stream from the beginning."""
        params = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        query = {"agent": self._agent, "cwd": self._cwd}
        headers = {"x-sandbox-agent-env": json.dumps(self._env)}
        result = await self.call("initialize", params, query=query, headers=headers, limit_s=600)
        self._reader = asyncio.create_task(self._read())
        return result

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        limit_s: float = ANSWER_LIMIT_S,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        number: int | None = None,
    ) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": number or next(_REQUESTS), "method": method, "params": params}
        answer = await self._http.post(
            self._url, json=body, params=query, headers=headers, timeout=httpx.Timeout(limit_s)
        )
        assert answer.status_code == 200, f"{method}: {answer.status_code} {answer.text}"
        document = answer.json()
        if "error" in document:
            raise AgentError(document["error"])
        result = document["result"]
        return result if isinstance(result, dict) else {}

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        answer = await self._http.post(self._url, json={"jsonrpc": "2.0", "method": method, "params": params})
        assert answer.status_code == 202, answer.text

    async def new_session(self) -> dict[str, Any]:
        return await self.call("session/new", {"cwd": self._cwd, "mcpServers": []})

    async def prompt(self, session_id: str, text: str, limit_s: float = ANSWER_LIMIT_S) -> Turn:
        """Run one turn; its messages are those that the stream delivered meanwhile."""
        start = len(self._messages)
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        number = next(_REQUESTS)
        result = await self.call("session/prompt", params, limit_s=limit_s, number=number)
        # The answer is also on the stream, after all messages of the turn, and may arrive later there.
        await self.wait_for(
            "end of the turn on the stream",
            lambda message: message.get("id") == number and "method" not in message,
            start,
        )
        return Turn(result["stopReason"], self._messages[start:])

    async def wait_for(
        self,
        what: str,
        condition: Callable[[dict[str, Any]], bool],
        since: int,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> dict[str, Any]:
        """The first message from number `since` on that meets the condition."""

        def found() -> dict[str, Any] | None:
            return next((message for message in self._messages[since:] if condition(message)), None)

        try:
            async with asyncio.timeout(limit_s), self._news:
                while (message := found()) is None:
                    await self._news.wait()
                return message
        except TimeoutError:
            raise AssertionError(f"no {what} within {limit_s} s; seen {self._messages[since:]}") from None

    @property
    def seen(self) -> int:
        """The number of messages so far."""
        return len(self._messages)

    async def delete(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None
        # The server may have been killed by the test.
        with suppress(httpx.TransportError):
            await self._http.delete(self._url, timeout=30)

    async def _read(self) -> None:
        timeout = httpx.Timeout(30, read=None)
        async with self._http.stream("GET", self._url, timeout=timeout) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    self.longest_line = max(self.longest_line, len(line))
                    await self._take(json.loads(line.removeprefix("data: ")))

    async def _take(self, message: dict[str, Any]) -> None:
        async with self._news:
            self._messages.append(message)
            self._news.notify_all()
        if "method" in message and "id" in message:
            answer = self._answer(message)
            if answer is not None:
                await self._http.post(self._url, json={"jsonrpc": "2.0", "id": message["id"], **answer})

    def _answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        policy = self.policies.get(message["method"])
        if policy is None:
            return {"error": {"code": -32601, "message": "not served here"}}
        result = policy(message["params"])
        return None if result is None else {"result": dict(result)}
