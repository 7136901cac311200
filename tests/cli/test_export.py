"""`sandbox-agent export`: the conversations of `run --session`, and any other store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sandbox_agent.cli.export import export
from tests.cli.sandbox_directory import SandboxDirectory


@pytest.mark.process
@pytest.mark.clause("sdk-transcripts", "cli-export")
def test_conversations_are_listed_and_exported(sandbox: SandboxDirectory) -> None:
    for name, prompt in (("one", "echo hello"), ("two", "tool")):
        sandbox.run("run", "mock", prompt, "-q", "--session", name).good()
    assert sandbox.run("export").good().out.split() == ["one", "two"]
    assert "## User\n\necho hello\n\n## Agent\n\nhello\n" in sandbox.run("export", "one").good().out
    lines = sandbox.run("export", "--all", "--format", "chat").good().out.splitlines()
    assert [json.loads(line)["messages"][0]["content"] for line in lines] == ["echo hello", "tool"]
    store = str(sandbox.data / "conversations.db")
    words = ("export", "two", "-f", "atif", "--store", store, "-o", "out.json")
    assert sandbox.run(*words).good().out == ""
    assert json.loads((sandbox.home / "out.json").read_text())["session_id"] == "two"
    assert sandbox.run("export", "never").code == 1


@pytest.mark.clause("cli-export")
def test_wrong_usage_is_named(tmp_path: Path) -> None:
    runner = CliRunner()
    missing = runner.invoke(export, ["x", "--store", str(tmp_path / "none.db")])
    assert missing.exit_code == 2 and "none.db" in missing.output
    assert list(tmp_path.iterdir()) == []
    assert runner.invoke(export, ["x", "--all"]).exit_code == 2
    assert runner.invoke(export, ["--all", "-f", "atif"]).exit_code == 2
