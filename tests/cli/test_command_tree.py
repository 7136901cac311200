"""The tree of commands: help, usage errors, options that are valid anywhere, and what is not imported."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import click
import pytest
from click.testing import CliRunner

from sandbox_agent.cli.command_tree import root
from sandbox_agent.cli.server.settings_parser import parse
from sandbox_agent.settings import SettingsError
from tests.cli.sandbox_directory import PROGRAM, SandboxDirectory
from tests.support.server_process import ServerProcess

from .conftest import TOKEN


@pytest.mark.clause("cli-command-tree")
def test_no_command_is_a_usage_error_with_help_on_stderr(sandbox: SandboxDirectory) -> None:
    result = sandbox.run()
    assert result.code == 2
    assert result.out == ""
    assert "Commands:" in result.err and "daemon" in result.err


def test_version_is_that_of_the_package(sandbox: SandboxDirectory) -> None:
    for flag in ("-V", "--version"):
        assert sandbox.run(flag).good().out == f"sandbox-agent {version('sandbox-agent')}\n"


@pytest.mark.clause("cli-command-tree")
@pytest.mark.parametrize(
    "words",
    [("fly",), ("api", "fly"), ("server", "--fly"), ("run",), ("api", "acp", "post", "--server-id", "x")],
    ids=" ".join,
)
def test_usage_errors_exit_with_2(sandbox: SandboxDirectory, words: tuple[str, ...]) -> None:
    result = sandbox.run(*words)
    assert result.code == 2
    assert result.err.strip()


def _tree(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from _tree(inner, (*words, name))


@pytest.mark.clause("cli-command-tree")
def test_every_command_explains_itself_and_knows_the_token() -> None:
    """In this process: starting one for each of the fifty commands would take longer than all other tests."""
    commands = list(_tree(root))
    assert len(commands) > 40
    for words in commands:
        result = CliRunner().invoke(root, [*words, "--help"])
        assert result.exit_code == 0, (words, result.output)
        assert "-t, --token" in result.output, words
        first = result.output.split("\n\n")[1].strip()
        assert first and not first.startswith("Options"), f"{words} does not say what it does"


def test_help_goes_to_stdout_in_both_spellings(sandbox: SandboxDirectory) -> None:
    for words in (("server",), ("mock-agent",), ("mock-agent-process",), ("api", "acp", "stream")):
        result = sandbox.run(*words, "--help").good()
        assert "Usage: sandbox-agent" in result.out
        assert sandbox.run(*words, "-h").good().out == result.out


@pytest.mark.clause("spec3-global-token", "cli-command-tree")
@pytest.mark.parametrize(
    "words",
    [
        ("-t", TOKEN, "api", "agents", "list"),
        ("api", "agents", "--token", TOKEN, "list"),
        ("api", "agents", "list", f"--token={TOKEN}"),
        ("api", "-n", "agents", "list", "-t", TOKEN),
    ],
    ids=["root", "group", "command", "token wins over no token"],
)
def test_the_token_may_stand_anywhere(
    sandbox: SandboxDirectory, server: ServerProcess, words: tuple[str, ...]
) -> None:
    endpoint = {"SANDBOX_AGENT_URL": f"http://127.0.0.1:{server.port}"}
    assert sandbox.run(*words, environment=endpoint).good().json["agents"]


@pytest.mark.clause("cli-command-tree")
def test_no_token_wins_over_the_environment(sandbox: SandboxDirectory, server: ServerProcess) -> None:
    environment = {"SANDBOX_AGENT_URL": f"http://127.0.0.1:{server.port}", "SANDBOX_AGENT_TOKEN": TOKEN}
    result = sandbox.run("api", "health", "-n", environment=environment)
    assert result.code == 1
    assert "token_invalid" in result.err


@pytest.mark.clause("cli-server-help-is-quick")
def test_help_of_the_server_costs_less_than_150_ms(sandbox: SandboxDirectory) -> None:
    """Processor time of the quickest run: wall-clock time would depend on the load of the machine."""
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        sandbox.run("server", "--help").good()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert min(costs) < 0.15


def _imported_by(words: list[str]) -> set[str]:
    script = (
        "import sys; from sandbox_agent.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(name for name, module in sys.modules.items() if module), file=sys.stderr)"
    )
    program = [sys.executable, "-c", script, *words]
    finished = subprocess.run(program, capture_output=True, text=True, timeout=60)
    return {name.partition(".")[0] for name in finished.stderr.split()}


@pytest.mark.clause("cli-server-help-is-quick")
def test_the_server_command_imports_no_framework() -> None:
    heavy = {"click", "rich", "httpx", "pydantic", "acp", "ssl", "starlette"}
    assert not _imported_by(["server", "--help"]) & heavy


@pytest.mark.clause("cli-server-help-is-quick")
def test_the_list_of_commands_imports_no_command() -> None:
    imported = _imported_by(["--help"])
    assert "click" in imported
    assert not imported & {"httpx", "rich", "msgspec", "acp"}


def test_the_module_is_the_command() -> None:
    for program in (PROGRAM, [sys.executable, "-m", "sandbox_agent"]):
        finished = subprocess.run([*program, "--version"], capture_output=True, text=True, timeout=60)
        assert finished.stdout == f"sandbox-agent {version('sandbox-agent')}\n"


def test_the_mock_agent_answers_on_stdio(sandbox: SandboxDirectory) -> None:
    hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
    for name in ("mock-agent", "mock-agent-process"):
        assert sandbox.run(name, stdin=hello).good().json["id"] == 1


@pytest.mark.parametrize(
    ("arguments", "port", "token", "no_token"),
    [
        (["-p8000"], 8000, None, False),
        (["-p=8000"], 8000, None, False),
        (["-np8000"], 8000, None, True),
        (["-t-p", "-p8000"], 8000, "-p", False),
        (["--token", "-p1", "-p", "8000"], 8000, "-p1", False),
    ],
)
def test_short_flags_of_the_server_may_hold_their_value(
    arguments: list[str], port: int, token: str | None, no_token: bool
) -> None:
    settings = parse(arguments, {})
    assert (settings.port, settings.token, settings.no_token) == (port, token, no_token)


def test_busy_polling_can_be_switched_off() -> None:
    assert parse([], {}).busy_poll_us == 100
    assert parse(["--busy-poll-us", "0"], {}).busy_poll_us == 0
    assert parse([], {"SANDBOX_AGENT_BUSY_POLL_US": "0"}).busy_poll_us == 0
    with pytest.raises(SettingsError, match="--busy-poll-us must be a whole number of at least 0"):
        parse(["--busy-poll-us", "soon"], {})
