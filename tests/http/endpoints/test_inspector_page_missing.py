"""A package that was built without Node: the server works, and `/ui/` says how to get the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.http.endpoints import inspector
from sandbox_agent.http.messages import Request


def request(path: str) -> Request:
    async def receive() -> Any:
        raise AssertionError("a page is asked for without a body")

    scope = {"method": "GET", "path": path, "raw_path": path.encode(), "headers": [], "query_string": b""}
    return Request(scope, receive)


@pytest.mark.clause("inspector-without-node")
async def test_without_the_page_its_place_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(inspector, "PAGE_DIRECTORY", tmp_path)
    answer = await inspector.serve_inspector(request("/ui/"), None)  # type: ignore[arg-type]  # not used
    assert answer.status == 200
    assert b"npm run build" in answer.body


async def test_a_rebuilt_page_is_served_without_a_restart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(inspector, "PAGE_DIRECTORY", tmp_path)
    index = tmp_path / "index.html"
    for content in (b"first", b"second, and longer"):
        index.unlink(missing_ok=True)
        index.write_bytes(content)
        answer = await inspector.serve_inspector(request("/ui/"), None)  # type: ignore[arg-type]  # not used
        assert answer.body == content
