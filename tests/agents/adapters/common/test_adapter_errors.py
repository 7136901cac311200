"""Faults of vendors' programs as JSON-RPC errors."""

from __future__ import annotations

import pytest

from sandbox_agent.agents.adapters.common import adapter_errors
from sandbox_agent.jsonrpc_error_codes import AUTH_REQUIRED, INTERNAL_ERROR


@pytest.mark.clause("adapters-faults-are-typed")
@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("API Error: 401 unauthorized", AUTH_REQUIRED),
        ("Invalid API key · Please run /login", AUTH_REQUIRED),
        ("parse error at line 4011", INTERNAL_ERROR),
        ("request 14012 failed", INTERNAL_ERROR),
    ],
)
def test_only_a_missing_login_gets_the_code_for_it(message: str, code: int) -> None:
    assert adapter_errors.turn_failed("Claude", message).code == code


def test_an_exit_code_that_is_not_known_is_called_unknown() -> None:
    assert "(exit code unknown)" in str(adapter_errors.program_ended("Claude", None, ""))
