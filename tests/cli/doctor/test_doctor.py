"""`doctor`: what it says of a machine, and when its exit code says something is missing."""

from __future__ import annotations

import os

import pytest

from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.server_process import place_launcher


def _by_subject(
    sandbox: SandboxDirectory, environment: dict[str, str] | None = None
) -> dict[str, dict[str, str]]:
    findings = sandbox.run("doctor", environment=environment).json
    return {finding["subject"]: finding for finding in findings}


@pytest.mark.clause("cli-doctor")
def test_a_machine_without_agents_is_healthy_and_shown_how_to_get_them(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("doctor").good()
    found = {finding["subject"]: finding for finding in result.json}
    assert found["Python"]["verdict"] == "ok"
    assert found["agent mock"]["fact"] == "built in"
    assert found["agent claude"]["remedy"] == "sandbox-agent install-agent claude"
    table = sandbox.run("doctor", "-o", "table").good().out
    assert "sandbox-agent install-agent codex" in table


@pytest.mark.clause("cli-doctor", "credentials-stay-secret")
def test_an_agent_without_a_key_is_shown_with_the_variable_it_reads(sandbox: SandboxDirectory) -> None:
    place_launcher(sandbox.data.parent, "codex", "#!/bin/sh\n")
    finding = _by_subject(sandbox)["agent codex"]
    assert "OPENAI_API_KEY" in finding["remedy"]
    key = "sk-made-up-for-the-tests"
    result = sandbox.run("doctor", environment={"OPENAI_API_KEY": key}).good()
    assert key not in result.out
    assert next(one for one in result.json if one["subject"] == "agent codex")["verdict"] == "ok"


@pytest.mark.clause("cli-doctor")
def test_without_node_it_says_how_to_get_it(sandbox: SandboxDirectory) -> None:
    empty = sandbox.home / "empty"
    empty.mkdir()
    finding = _by_subject(sandbox, {"PATH": str(empty)})["Node.js"]
    assert finding["verdict"] == "note"
    assert "apt-get install" in finding["remedy"]


@pytest.mark.clause("cli-doctor")
def test_what_the_server_needs_makes_the_exit_code_1(sandbox: SandboxDirectory) -> None:
    in_the_way = sandbox.home / "a-file"
    in_the_way.write_text("")
    result = sandbox.run("doctor", environment={"XDG_DATA_HOME": os.path.join(in_the_way, "data")})
    assert result.code == 1
    assert any(finding["subject"] == "data directory" for finding in result.json)


def test_a_broken_agents_file_is_named(sandbox: SandboxDirectory) -> None:
    broken = sandbox.home / "agents.toml"
    broken.write_text("[[agent]\n")
    result = sandbox.run("doctor", environment={"SANDBOX_AGENT_AGENTS_FILE": str(broken)})
    assert result.code == 1
    assert str(broken) in result.out
