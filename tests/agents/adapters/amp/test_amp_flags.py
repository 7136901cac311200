"""The flags of an `amp` program, and the flag lists that are tried."""

from __future__ import annotations

import pytest

from sandbox_agent.agents.adapters.amp.amp_flags import read_help

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
_STRANGE = "Options:\n\n  --print\n  --output-format <format>\n"


@pytest.mark.clause("spec3-amp-subprocess-per-turn")
def test_flags_and_modes_are_read_from_the_help() -> None:
    flags = read_help(_MAY)
    assert flags.streams_json and flags.allows_all
    assert flags.modes == ("deep", "large", "rush", "smart")
    strange = read_help(_STRANGE)
    assert not strange.streams_json and not strange.allows_all and strange.modes == ()


@pytest.mark.clause("spec3-amp-fallback-flags")
def test_a_version_that_runs_on_the_server_is_recognised_by_its_flags() -> None:
    flags = read_help(_SEPTEMBER)
    assert flags.streams_json and flags.reads_messages and flags.runs_on_server
    assert flags.modes == ("low", "medium", "high", "ultra") and not flags.allows_all
    assert not read_help(_MAY).runs_on_server


@pytest.mark.clause("spec3-amp-subprocess-per-turn")
def test_each_next_run_asks_for_less_but_keeps_what_the_user_chose() -> None:
    runs = read_help(_MAY).flag_lists(bypass=True, mode="rush", mcp_config="{}")
    chosen = ["--dangerously-allow-all", "--mcp-config", "{}"]
    assert runs == [
        ["--execute", "--stream-json", "--stream-json-thinking", *chosen, "--mode", "rush"],
        ["--execute", "--stream-json", *chosen, "--mode", "rush"],
        ["--execute", "--stream-json", *chosen],
    ]


def test_a_plain_run_is_tried_once() -> None:
    few = read_help("Options:\n\n  -x, --execute [message]\n  --stream-json\n")
    assert few.flag_lists(bypass=False, mode=None, mcp_config=None) == [["--execute", "--stream-json"]]
