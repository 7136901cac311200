"""The fake model: every API, streamed and plain, executes the directives of the prompt."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.real_agents.fake_model import FakeModel
from tests.real_agents.fake_model.script import Message, answer
from tests.real_agents.fake_model.tools import Tool, fill

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def messages_body(prompt: str) -> tuple[str, dict[str, Any]]:
    tool = {"name": "Bash", "input_schema": SHELL}
    return "/v1/messages", {"messages": [{"role": "user", "content": prompt}], "tools": [tool]}


def chat_body(prompt: str) -> tuple[str, dict[str, Any]]:
    tool = {"type": "function", "function": {"name": "bash", "parameters": SHELL}}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}], "tools": [tool]}
    return "/v1/chat/completions", body


def responses_body(prompt: str) -> tuple[str, dict[str, Any]]:
    inner = {"type": "function", "name": "exec_command", "parameters": SHELL}
    tools = [{"type": "namespace", "name": "n", "tools": [inner]}]
    return "/v1/responses", {"input": prompt, "tools": tools}


Body = Callable[[str], tuple[str, dict[str, Any]]]
BODIES: list[Body] = [messages_body, chat_body, responses_body]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with FakeModel() as model, httpx.Client(base_url=model.base, timeout=20) as client:
        yield client


def ask(http: httpx.Client, make: Body, prompt: str, stream: bool) -> str:
    path, body = make(prompt)
    reply = http.post(path, json=body | {"stream": stream})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == ("text/event-stream" if stream else "application/json")
    return reply.text


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("make", BODIES)
def test_every_api_thinks_says_and_calls_tools(http: httpx.Client, make: Body, stream: bool) -> None:
    said = ask(http, make, "wrapped [[think deep-thought]] [[say hello]] in words", stream)
    assert "deep-thought" in said and "hello" in said
    called = ask(http, make, "[[shell echo hi]] [[say goodbye]]", stream)
    assert "echo hi" in called and "goodbye" not in called


@pytest.mark.parametrize("make", BODIES)
def test_error_is_the_status_that_was_asked_for(http: httpx.Client, make: Body) -> None:
    path, body = make("[[error 529]]")
    reply = http.post(path, json=body)
    assert (reply.status_code, reply.json()["error"]["type"]) == (529, "overloaded_error")


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent"])
def test_gemini(http: httpx.Client, method: str) -> None:
    declaration = {"name": "run_shell_command", "parametersJsonSchema": SHELL}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "[[shell echo hi]]"}]}],
        "tools": [{"functionDeclarations": [declaration]}],
    }
    reply = http.post(f"/v1beta/models/x:{method}", json=body)
    assert '"functionCall": {' in reply.text and "echo hi" in reply.text


def test_gemini_answers_in_the_schema_that_is_wanted(http: httpx.Client) -> None:
    schema = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}, "required": ["n"]}
    body = {"contents": [], "generationConfig": {"responseSchema": schema}}
    reply = http.post("/v1beta/models/x:generateContent", json=body).json()
    assert json.loads(reply["candidates"][0]["content"]["parts"][0]["text"]) == {"n": 1}


def test_compressed_and_chunked_bodies_are_read(http: httpx.Client) -> None:
    path, body = chat_body("[[say hello]]")
    packed = gzip.compress(json.dumps(body).encode())
    reply = http.post(path, content=iter([packed[:10], packed[10:]]), headers={"content-encoding": "gzip"})
    assert reply.json()["choices"][0]["message"]["content"] == "hello"


def test_amp_finds_an_uploaded_thread_only_when_it_has_settled(http: httpx.Client) -> None:
    upload = {"method": "uploadThread", "params": {"thread": {"id": "T-1"}}}
    assert http.post("/api/internal", json=upload).json()["ok"]
    get = {"method": "getThread", "params": {"thread": "T-1"}}
    assert http.post("/api/internal", json=get).json()["error"]["code"] == "thread-not-found"


def test_models_and_probes(http: httpx.Client) -> None:
    assert http.get("/v1/models").json()["data"][0]["id"] == "fake-model"
    assert http.get("/v1/models/x").json()["id"] == "x"
    assert http.head("/").status_code == 200
    assert http.get("/nowhere").status_code == 404
    assert http.post("/v1/messages/count_tokens", json={}).json()["input_tokens"] == 10


def conversation(*items: tuple[str, str]) -> list[Message]:
    return [Message(role, text) for role, text in items]


def test_directives_go_on_behind_the_results_of_tools() -> None:
    tools = [Tool("Bash", SHELL)]
    start = [("user", "[[shell one]] [[shell two]] [[say end]]")]
    first = answer(conversation(*start), tools)
    second = answer(conversation(*start, ("assistant", ""), ("result", "r1")), tools)
    third = answer(conversation(*start, ("result", "r1"), ("result", "r2"), ("user", "<reminder>")), tools)
    assert first.call and first.call.arguments == {"command": "one"}
    assert second.call and second.call.arguments == {"command": "two"}
    assert third.call is None and third.text == "end"


def test_prompt_of_an_earlier_turn_is_not_run_again() -> None:
    earlier = [("user", "[[shell one]]"), ("assistant", ""), ("result", "r1"), ("assistant", "done")]
    reply = answer(conversation(*earlier, ("user", "plain words")), [Tool("Bash", SHELL)])
    assert reply.call is None and "plain words" in reply.text


def test_requests_without_tools_are_titles() -> None:
    assert answer(conversation(("user", "[[error 500]]")), []).text == "A short title"


def test_arguments_follow_the_schema() -> None:
    schema = {
        "type": "object",
        "$defs": {"Level": {"enum": ["low", "high"]}},
        "properties": {
            "level": {"$ref": "#/$defs/Level"},
            "count": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 3}]},
            "items": {"type": "array", "minItems": 2, "items": {"type": "boolean"}},
            "optional": {"type": "string"},
        },
        "required": ["level", "count", "items"],
    }
    assert fill(schema, {}) == {"level": "low", "count": 3, "items": [False, False]}
