"""Type checkers narrow universal events, and find a typo in a field."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from sandbox_agent import AsyncSession, Session
from sandbox_agent.sdk.universal import ItemCompleted, ItemDelta, TextPart, TurnEnded, UniversalEvent


def narrowed(event: UniversalEvent) -> str | None:
    match event:
        case ItemDelta(kind="text"):
            return event.data.delta
        case ItemCompleted(item=item):
            return item.text
        case TurnEnded():
            return event.data.turn_id
        case _:
            pass
    if event.type == "error":
        return event.data.message
    return None


def parts(event: ItemCompleted) -> list[str]:
    found = [part.text for part in event.item.content if isinstance(part, TextPart)]
    return found + [part.text for part in event.item.content if part.type == "reasoning"]


def wrong(event: UniversalEvent) -> None:
    if isinstance(event, ItemDelta):
        print(event.data.dleta)  # wrong
    if event.type == "item.delta":
        print(event.data.item)  # wrong
    if event.type == "item.dleta":  # wrong
        print(event)
    for part in event.item.content if isinstance(event, ItemCompleted) else []:
        if part.type == "text":
            print(part.diff)  # wrong


def told(session: Session, other: AsyncSession) -> None:
    @session.on("item.delta")
    def show(event: ItemDelta) -> None:
        print(event.text)

    @other.on("turn.ended")
    async def ended(event: TurnEnded) -> None:
        print(event.stop_reason)

    show, ended, session.on("item.dleta")  # wrong
"""
WRONG_LINES = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}


@pytest.mark.process
@pytest.mark.clause("sdk-events-narrow")
@pytest.mark.parametrize(
    "checker",
    [
        ["mypy", "--strict", "--strict-equality", "--no-error-summary"],
        ["pyright", "--pythonpath", sys.executable],
    ],
    ids=lambda command: command[0],
)
def test_events_are_narrowed_and_a_typo_is_an_error(tmp_path: Path, checker: list[str]) -> None:
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [str(Path(sys.executable).parent / checker[0]), *checker[1:], program.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    found = {int(number) for number in re.findall(r"program\.py:(\d+)[^\n]*error", done.stdout)}
    assert found == WRONG_LINES, done.stdout + done.stderr
