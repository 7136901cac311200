"""`docs/migration.md`: every name it leads to exists on both sides, every earlier name is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbox_agent
from sandbox_agent import (
    APIStatusError,
    AsyncProcess,
    AsyncSandboxAgent,
    AsyncSession,
    AsyncTerminal,
    Process,
    ProcessInfo,
    RpcError,
    SandboxAgent,
    Session,
    Terminal,
)
from sandbox_agent.sdk.client.client_options import ConnectOptions
from sandbox_agent.sdk.session.session_options import SessionOptions
from sandbox_agent.sdk.stores import SessionRecord

PAGE = Path(__file__).parents[3] / "docs" / "migration.md"
OPTIONS = {*ConnectOptions.__annotations__, *SessionOptions.__annotations__}
# Named for one side only: `aclose` for the asynchronous classes, `close` for the others.
_ERRORS = {"RpcError": RpcError(0, "text"), "APIStatusError": APIStatusError(400)}
CLOSING = {"client.aclose", "client.close"}


def _rows() -> Iterator[tuple[str, list[str], list[str]]]:
    """TypeScript name, earlier names and present names of each row."""
    section = PAGE.read_text(encoding="utf-8").partition("## From the TypeScript SDK")[2]
    for line in section.partition("## From the older")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and cells[1] != "earlier":
            yield cells[0], re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[2])


ROWS = list(_rows())


@pytest.fixture(scope="module")
def sides() -> Iterator[dict[str, dict[str, Any]]]:
    """What `client` and `session` stand for on each side; nothing is connected."""
    with SandboxAgent("http://127.0.0.1:9", wait_for_health=False) as client:
        asynchronous = client._async
        process = AsyncProcess(asynchronous._api, _some_process())
        yield {
            "asynchronous": {
                "client": asynchronous,
                "session": AsyncSession,
                "process": process,
                "terminal": AsyncTerminal,
            },
            "synchronous": {
                "client": client,
                "session": Session,
                "process": Process(client._portal, process),
                "terminal": Terminal,
            },
        }


def _some_process() -> ProcessInfo:
    return ProcessInfo(**dict.fromkeys(ProcessInfo.__struct_fields__, ""))  # type: ignore[arg-type]


def _exists(name: str, roots: dict[str, Any]) -> bool:
    if name.endswith("="):
        return name[:-1] in OPTIONS
    root, *path = re.split(r"\.", re.match(r"[\w.]+", name)[0])  # type: ignore[index]
    if root == "session" and path[:1] == ["record"]:
        return set(path[1:]) <= set(SessionRecord.__annotations__)
    if root in _ERRORS and path:
        return hasattr(_ERRORS[root], path[0])
    missing = object()
    found = roots.get(root, getattr(sandbox_agent, root, missing))
    for part in path:
        found = getattr(found, part, missing)
    return found is not missing


@pytest.mark.clause("sdk-migration-table")
@pytest.mark.parametrize(("typescript", "earlier", "now"), ROWS, ids=[row[0] or row[1][0] for row in ROWS])
def test_each_name_of_the_migration_table_exists(
    sides: dict[str, dict[str, Any]], typescript: str, earlier: list[str], now: list[str]
) -> None:
    assert now, "a row names what to use"
    for name in now:
        wanted = [side for side in sides if name.partition("(")[0] not in CLOSING]
        for side in wanted:
            assert _exists(name, sides[side]), f"{name} does not exist on the {side} side"


@pytest.mark.clause("sdk-migration-table")
def test_no_earlier_name_is_left(sides: dict[str, dict[str, Any]]) -> None:
    names = [name for _, earlier, _ in ROWS for name in earlier if "(" not in name]
    assert len(names) > 60
    assert [name for name in names for roots in sides.values() if _exists(name, roots)] == []


@pytest.mark.clause("sdk-migration-table")
@pytest.mark.parametrize(
    ("kind", "there", "gone"),
    [
        (AsyncSandboxAgent, "aclose", "close"),
        (SandboxAgent, "close", "aclose"),
        (AsyncSession, "aclose", "close"),
        (Session, "close", "aclose"),
    ],
)
def test_each_side_closes_by_one_name(kind: type[object], there: str, gone: str) -> None:
    assert hasattr(kind, there) and not hasattr(kind, gone)
