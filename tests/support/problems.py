"""Checks that an answer is a problem document, with the exact keys and order of the wire."""

from __future__ import annotations

from typing import Any

from tests.support.clients.raw_http import Answer

EXTENSIONS = ("agent", "sessionId", "details")


def assert_problem(answer: Answer, status: int, kind: str, title: str | None = None) -> dict[str, Any]:
    assert answer.status == status, (answer.status, answer.body[:1000])
    assert answer.header("content-type") == "application/problem+json"
    assert answer.header("content-length") == str(len(answer.body))
    problem: dict[str, Any] = answer.json()
    assert list(problem)[:4] == ["type", "title", "status", "detail"], list(problem)
    assert set(list(problem)[4:]) <= set(EXTENSIONS), list(problem)
    assert problem["type"] == f"urn:sandbox-agent:error:{kind}"
    assert problem["status"] == status
    assert isinstance(problem["detail"], str) and problem["detail"]
    if title is not None:
        assert problem["title"] == title
    return problem
