"""`credentials`: what is found is shown redacted, and handed on only when that is what was asked for."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.clients.acp import AGENT

from .conftest import Api

ANTHROPIC = "sk-ant-made-up-for-the-tests-0001"
OPENAI = "sk-made-up-for-the-tests-0002"
OTHER = "made-up-for-the-tests-0003"


@pytest.fixture
def keys(sandbox: SandboxDirectory) -> SandboxDirectory:
    """Keys in three files and no variable."""
    (sandbox.home / ".claude.json").write_text(json.dumps({"primaryApiKey": ANTHROPIC}))
    (sandbox.home / ".codex").mkdir()
    (sandbox.home / ".codex" / "auth.json").write_text(json.dumps({"tokens": {"access_token": OPENAI}}))
    opencode = sandbox.home / ".local" / "share" / "opencode"
    opencode.mkdir(parents=True)
    (opencode / "auth.json").write_text(json.dumps({"groq": {"type": "api", "key": OTHER}}))
    return sandbox


@pytest.mark.clause("credentials-stay-secret")
def test_extract_redacts_unless_asked_to_reveal(keys: SandboxDirectory) -> None:
    hidden = keys.run("credentials", "extract").good()
    assert hidden.json["anthropic"]["source"] == str(keys.home / ".claude.json")
    assert hidden.json["openai"]["auth_type"] == "oauth"
    assert set(hidden.json["other"]) == {"groq"}
    for secret in (ANTHROPIC, OPENAI, OTHER):
        assert secret not in hidden.out + hidden.err
    shown = keys.run("credentials", "extract", "--reveal").good().json
    assert shown["anthropic"]["api_key"] == ANTHROPIC
    assert shown["other"]["groq"]["api_key"] == OTHER


def test_extract_can_be_narrowed(keys: SandboxDirectory) -> None:
    assert set(keys.run("credentials", "extract", "-a", "codex").good().json) == {"openai"}
    assert set(keys.run("credentials", "extract", "-p", "anthropic").good().json) == {"anthropic"}
    assert keys.run("credentials", "extract", "--no-oauth").good().json["openai"] is None


def test_extract_of_nothing_names_the_providers_it_looked_for(sandbox: SandboxDirectory) -> None:
    found = sandbox.run("credentials", "extract").good().json
    assert found == {"anthropic": None, "openai": None, "other": {}}


def test_extract_of_something_that_is_missing_exits_with_1(sandbox: SandboxDirectory) -> None:
    for question in (("-a", "codex"), ("-p", "groq")):
        result = sandbox.run("credentials", "extract", *question)
        assert (result.code, result.json) == (1, {})


def test_extract_looks_in_another_home(keys: SandboxDirectory) -> None:
    elsewhere = keys.home / "elsewhere"
    elsewhere.mkdir()
    assert keys.run("credentials", "extract", "-d", str(elsewhere)).good().json["anthropic"] is None


@pytest.mark.clause("credentials-stay-secret")
def test_a_short_key_is_hidden_whole(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("credentials", "extract", environment={"OPENAI_API_KEY": "short-key"}).good()
    assert result.json["openai"]["api_key"] == "***"


@pytest.mark.clause("spec3-credential-variables")
def test_extract_env_survives_a_shell(keys: SandboxDirectory) -> None:
    nasty = 'a\'b $(touch oops) "c"'
    exported = keys.run("credentials", "extract-env", "-e", environment={"OPENAI_API_KEY": nasty}).good().out
    names = ("ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GROQ_API_KEY")
    script = exported + "".join(f'echo "${name}"\n' for name in names)
    shell = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, timeout=30, cwd=keys.home, env={}
    )
    assert shell.stdout.splitlines() == [ANTHROPIC, ANTHROPIC, nasty, nasty, OTHER]
    assert not (keys.home / "oops").exists()
    plain = keys.run("credentials", "extract-env").good().out
    assert f"ANTHROPIC_API_KEY={shlex.quote(ANTHROPIC)}" in plain.splitlines()


@pytest.mark.clause("credentials-views-agree")
def test_status_shows_no_key_and_agrees_with_the_server_and_the_doctor(api: Api) -> None:
    server_view = {
        agent["id"]: agent["credentialsAvailable"] for agent in api("agents", "list").good().json["agents"]
    }
    # As the server of this module sees it: its home has no keys, only mock needs none.
    own = api.sandbox.run("credentials", "status", "-d", str(api.server.home)).good()
    assert {one["agent"]: one["credentialsAvailable"] for one in own.json["agents"]} == server_view
    assert [name for name, available in server_view.items() if available] == ["mock"]
    home = {"HOME": str(api.server.home), "XDG_DATA_HOME": str(api.server.data_home)}
    said = api.sandbox.run("doctor", environment=home).good().json
    without_key = {one["subject"] for one in said if "no key" in one["fact"]}
    assert without_key == {f"agent {AGENT}", "agent pi"}, "those that are installed there"


@pytest.mark.clause("credentials-stay-secret")
def test_status_names_the_source_and_not_the_key(keys: SandboxDirectory) -> None:
    result = keys.run("credentials", "status").good()
    found = {one["agent"]: one["credentialsAvailable"] for one in result.json["agents"]}
    assert found["claude"] and found["codex"] and not found["gemini"]
    assert result.json["providers"]["anthropic"]["source"].endswith(".claude.json")
    table = keys.run("credentials", "status", "-o", "table").good().out
    for secret in (ANTHROPIC, OPENAI, OTHER):
        assert secret not in result.out + table


def test_a_broken_file_is_passed_over(sandbox: SandboxDirectory) -> None:
    (sandbox.home / ".claude.json").write_text("{broken")
    assert sandbox.run("credentials", "status").good().json["providers"] == {}
