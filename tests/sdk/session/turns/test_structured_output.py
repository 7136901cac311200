"""`prompt(..., output=Type)`: the answer as a checked value, with one turn to repair it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

from sandbox_agent import AsyncSandboxAgent, AsyncSession, OutputError, SandboxAgent, StructuredResult, asgi
from sandbox_agent.sdk.session.turns.structured_output import find_output
from sandbox_agent.sdk.typed_json import TypedJson

pytestmark = pytest.mark.clause("sdk-structured-output")
ANSWERING_AGENT = Path(__file__).parents[2] / "answering_agent.py"


class City(pydantic.BaseModel):
    name: str
    inhabitants: int = pydantic.Field(gt=0)


class CityStruct(msgspec.Struct):
    name: str
    inhabitants: int


@dataclass
class CityData:
    name: str
    inhabitants: int
    rivers: list[str] | None = None


GOOD = '{"name": "Ulm", "inhabitants": 129000}'
Open = Callable[..., Awaitable[AsyncSession]]


@pytest.fixture
async def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    """Opens a session with an agent that gives these answers, one for each prompt."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    async with AsyncExitStack() as stack:

        async def open_session(*answers: str) -> AsyncSession:
            command = [sys.executable, str(ANSWERING_AGENT), *answers]
            client = await AsyncSandboxAgent.start(
                asgi(), agents={"own": command}, default_directory=tmp_path
            )
            stack.push_async_callback(client.aclose)
            return await client.sessions.create("own")

        yield open_session


@pytest.mark.parametrize("kind", [City, CityStruct, CityData])
@pytest.mark.parametrize(
    "answer",
    [GOOD, f"Here it is:\n```json\n{GOOD}\n```\nAnything else?", f'I looked {{hard}}. {GOOD} ["x"]'],
    ids=["alone", "in a code block", "in prose"],
)
async def test_an_answer_becomes_a_value(answering: Open, kind: Any, answer: str) -> None:
    session = await answering(answer)
    result = await session.prompt("Which city?", output=kind)
    assert isinstance(result, StructuredResult)
    assert isinstance(result.output, kind)
    assert (result.output.name, result.output.inhabitants) == ("Ulm", 129000)
    assert result.stop_reason == "end_turn"
    sent = str(await session.raw_events())
    assert "Which city?" in sent and "inhabitants" in sent


async def test_a_wrong_answer_is_repaired_in_one_more_turn(answering: Open) -> None:
    session = await answering('{"name": "Ulm", "inhabitants": -1}', GOOD)
    result = await session.prompt("Which city?", output=City)
    assert result.output == City(name="Ulm", inhabitants=129000)
    assert result.text == GOOD
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (20, 10)
    assert result.usage.cost is not None and result.usage.cost.amount == 0.5
    assert result.usage.context_used == 30
    prompts = [one for one in await session.raw_events() if one.get("method") == "session/prompt"]
    assert len(prompts) == 2
    assert "greater than 0" in str(prompts[1])
    assert result.duration_s is not None and len([e for e in result.events if e.type == "turn.ended"]) == 2


async def test_two_wrong_answers_are_an_error_with_the_result(answering: Open) -> None:
    session = await answering("I do not know any city.")
    with pytest.raises(OutputError) as caught:
        await session.prompt("Which city?", output=City)
    assert caught.value.result.text == "I do not know any city."
    assert caught.value.result.usage.input_tokens == 20
    assert caught.value.type_name == "City"
    # The session goes on.
    assert (await session.prompt("and now?")).text == "I do not know any city."


async def test_a_refusal_is_not_repaired(answering: Open) -> None:
    session = await answering("no")
    with pytest.raises(OutputError) as caught:
        await session.prompt("Which city?", output=City)
    assert caught.value.result.stop_reason == "refusal"
    assert len([one for one in await session.raw_events() if one.get("method") == "session/prompt"]) == 1


async def test_a_type_without_a_schema_is_refused_before_anything_is_sent(answering: Open) -> None:
    session = await answering(GOOD)
    with pytest.raises(TypeError, match="JSON schema"):
        await session.prompt("Which city?", output=AsyncIterator)
    assert not [one for one in await session.raw_events() if one.get("method") == "session/prompt"]


def test_the_synchronous_face_has_it_too(tmp_path: Path) -> None:
    command = [sys.executable, str(ANSWERING_AGENT), GOOD]
    with SandboxAgent.start(asgi(), agents={"own": command}, default_directory=tmp_path) as client:
        assert client.sessions.create("own").prompt("Which?", output=CityData).output.name == "Ulm"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "42", 42),
        (list[str], 'The list is ["a", "b"].', ["a", "b"]),
        (list[City], f"[{GOOD}]", [City(name="Ulm", inhabitants=129000)]),
        (dict[str, int], 'First {"a": "x"}, no: {"a": 1}', {"a": 1}),
    ],
)
def test_other_types(kind: Any, text: str, value: Any) -> None:
    assert find_output(TypedJson(kind), text) == value
