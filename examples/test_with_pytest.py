"""Tests of a program that uses the SDK: no key, no network, no process.

    pip install sandbox-agent pytest
    pytest -p sandbox_agent.testing examples/test_with_pytest.py

In a project, `pytest_plugins = ["sandbox_agent.testing"]` in the top `conftest.py` replaces `-p`.
"""

import pytest

from sandbox_agent import APITimeoutError, SandboxAgent
from sandbox_agent.testing import ScriptedAgent


def summarise(client: SandboxAgent, agent: str, text: str) -> str:
    """The program under test."""
    with client.sessions.create(agent) as session:
        return session.prompt(f"Summarise: {text}", timeout=30).text.strip()


def test_the_answer_of_the_agent_is_returned(
    sandbox_agent_client: SandboxAgent, scripted_agent: ScriptedAgent
) -> None:
    scripted_agent.answers({"Summarise: a long text": ["  short ", "text\n"]})
    assert summarise(sandbox_agent_client, scripted_agent.id, "a long text") == "short text"


def test_a_slow_agent_is_cut_off_with_what_it_has_said(sandbox_agent_client: SandboxAgent) -> None:
    session = sandbox_agent_client.sessions.create("mock")
    with pytest.raises(APITimeoutError) as failure:
        session.prompt("stream 1000 10", timeout=0.5)
    assert failure.value.result.text.startswith("chunk 1\n")
