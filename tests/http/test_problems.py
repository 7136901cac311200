"""Problem documents: what each error adds to the headers of its response."""

from __future__ import annotations

import pytest

from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http import problems
from sandbox_agent.http.openapi.problem_responses import PROBLEM_EXAMPLES


@pytest.mark.clause("security-L5")
@pytest.mark.parametrize("error", PROBLEM_EXAMPLES.values(), ids=lambda error: error.kind)
def test_errors_that_pass_say_when_to_try_again(error: SandboxAgentError) -> None:
    waits = [value for name, value in problems.response(error).headers if name == b"retry-after"]
    assert len(waits) == (error.status in (429, 503))
    assert all(value.isdigit() for value in waits)
