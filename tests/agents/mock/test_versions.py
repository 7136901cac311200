"""ACP v1 and v2 of the mock agent, checked against the schemas that the official TypeScript SDK publishes."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.cli.acp.front import Front
from tests.support.clients.published_clients import packages as packages

pytestmark = [pytest.mark.process, pytest.mark.node, pytest.mark.network]

SHOWS = {"session": {"notices": {}, "compaction": {}}, "elicitation": {"form": {}, "url": {}}}
V1 = {"protocolVersion": 1, "clientCapabilities": SHOWS}
V2 = {
    "protocolVersion": 2,
    "info": {"name": "test", "version": "1"},
    "capabilities": {"elicitation": {"form": {}, "url": {}}},
}
ANSWERS = {
    "session/request_permission": {"outcome": {"outcome": "selected", "optionId": "allow-once"}},
    "elicitation/create": {"action": "accept", "content": {"colour": "red"}},
    "_sandboxagent/session/request_question": {"status": "answered", "answers": [["option-a"]]},
}


class Connection:
    """A client of the mock agent that answers its requests and checks every message."""

    def __init__(self, front: Front, schema: dict[str, Any]) -> None:
        self.front = front
        self._number = 0
        self._seen = 0
        self._definitions = schema["$defs"]
        self._validators: dict[str, Any] = {}

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        return await self.front.request(self._number, method, params)

    async def open(self, initialize: dict[str, Any]) -> str:
        self.initialized = (await self.call("initialize", initialize))["result"]
        self.check("InitializeResponse", self.initialized)
        created = (await self.call("session/new", {"cwd": "/tmp", "mcpServers": []}))["result"]  # noqa: S108
        self.check("NewSessionResponse", created)
        self.session: str = created["sessionId"]
        return self.session

    def check(self, name: str, value: Any) -> None:
        if name not in self._validators:
            schema = {"$defs": self._definitions, "$ref": f"#/$defs/{name}"}
            self._validators[name] = jsonschema_rs.validator_for(schema)
        self._validators[name].validate(value)

    async def turn(self, text: str) -> list[dict[str, Any]]:
        """Run a turn; returns its updates."""
        is_v2 = self.initialized["protocolVersion"] == 2
        self._number += 1
        number, start = self._number, len(self.front.lines)
        prompt = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
        await self.front.send({"id": number, "method": "session/prompt", "params": prompt})
        answered: set[Any] = set()

        def new(message: dict[str, Any]) -> bool:
            return "id" in message and "method" in message and message["id"] not in answered

        def ended(message: dict[str, Any]) -> bool:
            if is_v2:
                return _update(message).get("state") == "idle" and message in self.messages(start)
            return "method" not in message and message.get("id") == number

        while True:
            found = await self.front.wait_for(lambda message: new(message) or ended(message), text)
            if not new(found):
                break
            answered.add(found["id"])
            await self.front.send({"id": found["id"], "result": ANSWERS[found["method"]]})
        answer = await self.front.answer(number)
        self.check("PromptResponse", answer["result"])
        messages = self.messages(start)
        for message in messages:
            self._validate(message)
        return [update for message in messages if (update := _update(message))]

    def messages(self, start: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.front.lines[start:]]

    def _validate(self, message: dict[str, Any]) -> None:
        if update := _update(message):
            self.check("SessionUpdate", update)
        elif message.get("method") == "session/request_permission":
            self.check("RequestPermissionRequest", message["params"])
        elif message.get("method") == "elicitation/create":
            self.check("CreateElicitationRequest", message["params"])


def _update(message: dict[str, Any]) -> dict[str, Any]:
    return message["params"]["update"] if message.get("method") == "session/update" else {}


Connect = Callable[[int], Awaitable[Connection]]


@pytest.fixture
async def connect(tmp_path: Path, packages: Path) -> AsyncIterator[Connect]:
    fronts: list[Front] = []

    async def start(version: int) -> Connection:
        front = await Front(tmp_path / "editor", "--agent", "mock").start()
        fronts.append(front)
        path = packages / "@agentclientprotocol" / "sdk" / "schema" / f"v{version}" / "schema.json"
        connection = Connection(front, json.loads(path.read_text()))
        await connection.open(V1 if version == 1 else V2)
        return connection

    yield start
    for front in fronts:
        await front.close()


def kinds(updates: list[dict[str, Any]]) -> list[str]:
    return [update["sessionUpdate"] for update in updates]


@pytest.mark.clause("mock-acp-v1")
async def test_the_newer_messages_of_v1_are_sent(connect: Connect) -> None:
    mock = await connect(1)
    assert mock.initialized["protocolVersion"] == 1
    notices = await mock.turn("notice")
    assert [one["severity"] for one in notices if one["sessionUpdate"] == "notice"] == [
        "info",
        "warning",
        "error",
    ]
    compaction = kinds(await mock.turn("compact"))
    assert compaction[:4] == [
        "compaction_update",
        "compaction_summary_chunk",
        "compaction_summary_chunk",
        "compaction_update",
    ]
    failed = await mock.turn("compact fail")
    assert failed[1]["status"] == "failed" and failed[1]["error"]
    assert "usage_update" in kinds(await mock.turn("usage"))
    assert "session_info_update" in kinds(await mock.turn("title Mine"))
    await mock.turn("elicit url")
    completed = [one for one in mock.messages(0) if one.get("method") == "elicitation/complete"]
    mock.check("CompleteElicitationNotification", completed[0]["params"])
    assert (await mock.call("logout", {}))["result"] == {}
    assert (await mock.call("session/delete", {"sessionId": mock.session}))["result"] == {}
    assert "error" in await mock.call("auth/login", {"methodId": "x"})


@pytest.mark.clause("mock-acp-v2")
async def test_everything_in_v2_has_the_form_of_the_draft(connect: Connect) -> None:
    mock = await connect(2)
    assert mock.initialized["protocolVersion"] == 2
    for text in ("demo", "notice", "compact", "elicit", "elicit url", "commands", "hello"):
        updates = await mock.turn(text)
        assert kinds(updates)[:2] == ["user_message", "state_update"]
        assert updates[1]["state"] == "running"
        assert updates[-1] == {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
        assert not {"tool_call", "plan", "current_mode_update"} & set(kinds(updates))
    states = [one["state"] for one in await mock.turn("permission") if one["sessionUpdate"] == "state_update"]
    assert states == ["running", "requires_action", "running", "idle"]


@pytest.mark.clause("mock-acp-v2")
async def test_messages_are_replaced_and_terminals_are_shown_in_v2(connect: Connect) -> None:
    mock = await connect(2)
    updates = await mock.turn("upsert")
    assert kinds(updates)[2:-1] == [
        "agent_thought_chunk",
        "agent_thought",
        "agent_message_chunk",
        "agent_message",
    ]
    assert updates[-2]["messageId"] == updates[-3]["messageId"]
    assert updates[-2]["content"] == [{"type": "text", "text": "The final text."}]
    terminal = [one for one in await mock.turn("terminal") if one["sessionUpdate"].startswith("terminal")]
    assert b"".join(b64decode(one["data"]) for one in terminal if "data" in one) == b"hello\r\n"
    assert terminal[-1]["exitStatus"]["exitCode"] == 0


@pytest.mark.clause("mock-acp-v2")
async def test_turns_fail_are_cancelled_and_are_replayed_in_v2(connect: Connect) -> None:
    mock = await connect(2)
    failed = await mock.turn("fail -32000")
    assert failed[-1]["stopReason"] == "error" and failed[-1]["error"]["code"] == -32000
    prompt = {"sessionId": mock.session, "prompt": [{"type": "text", "text": "hang"}]}
    start = len(mock.front.lines)
    assert "messageId" in (await mock.call("session/prompt", prompt))["result"]
    await mock.front.send({"method": "session/cancel", "params": {"sessionId": mock.session}})
    await mock.front.wait_for(lambda message: _update(message).get("stopReason") == "cancelled", "the end")
    await mock.turn("echo remember me")
    start = len(mock.front.lines)
    opened = {"sessionId": mock.session, "cwd": "/tmp", "mcpServers": []}  # noqa: S108
    assert "result" in await mock.call("session/resume", opened)
    assert len(mock.front.lines) == start + 1
    assert "result" in await mock.call("session/resume", {**opened, "replayFrom": {"type": "start"}})
    assert any(b"remember me" in line for line in mock.front.lines[start + 1 :])
    for method in ("session/load", "session/set_mode", "authenticate", "logout"):
        assert (await mock.call(method, opened))["error"]["code"] == -32601
