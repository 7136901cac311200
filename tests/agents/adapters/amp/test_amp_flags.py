"""The flags of an `amp` program, and the flag lists that are tried."""

from __future__ import annotations

import pytest

from sandbox_agent.agents.adapters.amp.amp_flags import AmpRequest, read_help

_MAY = """
Options:

  -V, --version
      Print the version number
  --dangerously-allow-all
      Disable all command confirmation prompts
  -m, --mode <value>
      Set the agent mode (deep, large, rush, smart) and more
  -x, --execute [message]
      Use execute mode
  --stream-json
      When used with --execute, output JSON
  --stream-json-thinking
      Include thinking blocks
"""
_SEPTEMBER = """
Options:

  -m, --mode <value>
      Set the agent mode (low, medium, high, ultra, or a plugin mode by key or label, case-insensitive)
  --executor <value>
      Run a new thread locally, in an orb, or on a runner (local, orb, runner:<id>)
  -x, --execute [message]
      Use execute mode
  --stream-json
      When used with --execute, output JSON
  --stream-json-input
      Read JSON Lines user messages from stdin.
"""
_SPECIFIED = """
Options:

  --print
  --output-format <format>
  --model <name>
      The model (opus, gpt-5.5)
  --continue <id>
  --dangerously-skip-permissions
"""
_STRANGE = "Options:\n\n  --print\n  --verbose\n"


@pytest.mark.clause("spec3-amp-subprocess-per-turn")
def test_flags_and_modes_are_read_from_the_help() -> None:
    flags = read_help(_MAY)
    assert flags.family == "threads" and flags.allows_all
    assert flags.choices == ("deep", "large", "rush", "smart")
    strange = read_help(_STRANGE)
    assert strange.family is None and not strange.allows_all and strange.choices == ()


@pytest.mark.clause("spec3-amp-fallback-flags")
def test_a_version_that_runs_on_the_server_is_recognised_by_its_flags() -> None:
    flags = read_help(_SEPTEMBER)
    assert flags.family == "threads" and flags.reads_messages and flags.runs_on_server
    assert flags.choices == ("low", "medium", "high", "ultra") and not flags.allows_all
    assert not read_help(_MAY).runs_on_server


@pytest.mark.clause("spec3-amp-subprocess-per-turn")
def test_each_next_run_asks_for_less_but_keeps_what_the_user_chose() -> None:
    runs = read_help(_MAY).command_lines(AmpRequest("T-1", bypass=True, choice="rush", mcp_config="{}"))
    thread = ["threads", "continue", "T-1", "--execute", "--stream-json"]
    chosen = ["--dangerously-allow-all", "--mcp-config", "{}"]
    assert runs == [
        [*thread, "--stream-json-thinking", *chosen, "--mode", "rush"],
        [*thread, *chosen, "--mode", "rush"],
        [*thread, *chosen],
    ]


def test_a_plain_run_is_tried_once() -> None:
    few = read_help("Options:\n\n  -x, --execute [message]\n  --stream-json\n")
    plain = ["threads", "continue", "T-1", "--execute", "--stream-json"]
    assert few.command_lines(AmpRequest("T-1")) == [plain]


@pytest.mark.clause("spec3-amp-subprocess-per-turn", "spec3-amp-fallback-flags")
def test_the_flags_of_the_specification_are_a_family_of_their_own() -> None:
    flags = read_help(_SPECIFIED)
    assert flags.family == "print" and flags.allows_all and flags.choices == ("opus", "gpt-5.5")
    form = ["--print", "--output-format", "stream-json"]
    wanted = AmpRequest("s-1", bypass=True, choice="opus", prompt="hello")
    needed = ["--continue", "s-1", "--dangerously-skip-permissions", "hello"]
    assert flags.command_lines(wanted) == [[*form, "--model", "opus", *needed], [*form, *needed]]
    assert flags.command_lines(AmpRequest(None, prompt="-x")) == [[*form, " -x"]]
    assert flags.command_lines(AmpRequest(None, prompt="x" * 100_000)) == [form], "on stdin"
