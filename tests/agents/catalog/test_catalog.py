"""The catalogue: the built-in agents and the user's file, which adds agents and overrides keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES
from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError, builtin_ids
from sandbox_agent.errors import UnsupportedAgent

REFERENCE_IDS = ("claude", "codex", "opencode", "amp", "pi", "cursor", "mock")
# The table of the reference; what every agent has (tool calls, tool results, text) is left out.
REFERENCE_FLAGS = {
    "claude": "permissions questions mcpTools streamingDeltas",
    "codex": "planMode permissions images fileAttachments sessionLifecycle errorEvents reasoning status "
    "commandExecution fileChanges mcpTools streamingDeltas itemStarted",
    "opencode": "images fileAttachments sessionLifecycle errorEvents mcpTools streamingDeltas itemStarted",
    "amp": "errorEvents mcpTools",
    "pi": "images sessionLifecycle errorEvents streamingDeltas itemStarted",
    "cursor": "planMode permissions images sessionLifecycle errorEvents streamingDeltas itemStarted",
    "mock": "planMode permissions questions images fileAttachments sessionLifecycle errorEvents reasoning "
    "status commandExecution fileChanges mcpTools streamingDeltas itemStarted",
}
ALWAYS = {"toolCalls", "toolResults", "textMessages"}


def user_file(directory: Path, text: str) -> Path:
    path = directory / "agents.toml"
    path.write_text(text)
    return path


@pytest.mark.clause("agents-catalogue-as-data")
def test_ids_of_the_reference_come_first_in_its_order() -> None:
    assert Catalog().ids()[:7] == REFERENCE_IDS


@pytest.mark.clause("decision-43")
@pytest.mark.parametrize("agent", REFERENCE_IDS)
def test_flags_are_those_of_the_reference(agent: str) -> None:
    assert Catalog().get(agent).capabilities == ALWAYS | set(REFERENCE_FLAGS[agent].split())


@pytest.mark.clause("agents-catalogue-as-data")
@pytest.mark.parametrize("agent", builtin_ids())
def test_every_built_in_agent_is_well_formed_and_pinned(agent: str) -> None:
    spec = Catalog().get(agent)
    assert spec.capabilities <= set(CAPABILITIES)
    for step in spec.usual_steps:
        for package in step.packages:
            assert "==" in package if step.source == "pypi" else "@" in package[1:], package


def test_unknown_agent_is_unsupported() -> None:
    with pytest.raises(UnsupportedAgent) as caught:
        Catalog().get("Claude")
    assert caught.value.detail == "unsupported agent: Claude"


@pytest.mark.clause("decision-47")
def test_user_adds_an_agent_by_command(tmp_path: Path) -> None:
    text = '[[agent]]\nid = "own"\ncommand = "/opt/own"\nargs = ["--acp"]\nenv = { A = "1" }\ncwd = "/srv"\n'
    catalog = Catalog.load(user_file(tmp_path, text))
    assert catalog.ids() == (*builtin_ids(), "own")
    spec = catalog.get("own")
    assert (spec.command, spec.env, spec.cwd) == (("/opt/own", "--acp"), {"A": "1"}, "/srv")


@pytest.mark.parametrize("head", ['[[agents]]\nid = "own"', "[agents.own]", "[agent.own]"])
def test_other_table_forms_of_an_agent_are_accepted(tmp_path: Path, head: str) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(f'{head}\ncommand = "/bin/cat"\nargs = ["-u"]\n')
    assert Catalog.load(path).get("own").command == ("/bin/cat", "-u")


@pytest.mark.clause("agents-catalogue-as-data")
def test_user_overrides_single_keys_of_a_built_in_agent(tmp_path: Path) -> None:
    text = '[[agent]]\nid = "claude"\nenv = { ANTHROPIC_MODEL = "x" }\n'
    spec = Catalog.load(user_file(tmp_path, text)).get("claude")
    assert spec.env == {"ANTHROPIC_MODEL": "x"}
    assert spec.install == Catalog().get("claude").install


@pytest.mark.clause("agents-catalogue-as-data")
def test_user_command_replaces_how_a_built_in_agent_starts(tmp_path: Path) -> None:
    text = '[[agent]]\nid = "mock"\ncommand = "/opt/mock"\n'
    spec = Catalog.load(user_file(tmp_path, text)).get("mock")
    assert spec.is_local and not spec.builtin and spec.command == ("/opt/mock",)


@pytest.mark.clause("decision-47")
def test_default_file_is_found_under_the_config_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert Catalog.load().ids() == builtin_ids()
    (tmp_path / "sandbox-agent").mkdir()
    user_file(tmp_path / "sandbox-agent", '[[agent]]\nid = "own"\ncommand = "x"\n')
    assert "own" in Catalog.load()


@pytest.mark.clause("agents-catalogue-as-data")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[agent", "not valid TOML"),
        ('[[agent]]\ncommand = "x"\n', "agent 1 has no `id`"),
        ('[[agent]]\nid = "a/b"\ncommand = "x"\n', "`id` must be"),
        ('[[agent]]\nid = "a"\ncommand = ["x"]\n', "`command` must be a string"),
        ('[[agent]]\nid = "a"\ncommand = "x"\nargs = "y"\n', "`args` must be a list of strings"),
        ('[[agent]]\nid = "a"\ncommand = "x"\nenv = { A = 1 }\n', "`env` must be a table of strings"),
        ('[[agent]]\nid = "a"\ncommand = "x"\ncolour = "red"\n', "unknown key `colour`"),
        ('[[agent]]\nid = "a"\ncommand = "x"\ncapabilities = ["fly"]\n', "unknown capability `fly`"),
        ('[[agent]]\nid = "a"\ncommand = "x"\nstop_signal = "SIGHUP"\n', "`stop_signal` must be SIGTERM"),
        ('[[agent]]\nid = "a"\n', "says neither"),
        ('[[agent]]\nid = "a"\ncommand = "x"\n[[agent]]\nid = "a"\ncommand = "y"\n', "there twice"),
        ('[[agent]]\nid = "a"\ncommand = "x"\n[[agent.install]]\nfoo = ["x"]\n', "unknown key `foo`"),
        ('[[agent]]\nid = "a"\ncommand = "x"\n[[agent.install]]\ncheck = ["x"]\n', "either `npm` or `pypi`"),
        ('[profile]\nwork = "x"\n', "[profile.NAME]"),
        ('[own]\ncommand = "x"\n', "agents are written as [[agent]]"),
        ('agents = "x"\n', "agents are written as [[agent]]"),
    ],
)
def test_error_names_the_fault_in_the_users_file(tmp_path: Path, text: str, words: str) -> None:
    path = user_file(tmp_path, text)
    with pytest.raises(CatalogError) as caught:
        Catalog.load(path)
    assert words in str(caught.value) and str(path) in str(caught.value)


def test_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        Catalog.load(tmp_path / "none.toml")


def test_profiles_are_read(tmp_path: Path) -> None:
    catalog = Catalog.load(user_file(tmp_path, '[profile.work]\nANTHROPIC_API_KEY = "k"\n'))
    assert catalog.profile("work") == {"ANTHROPIC_API_KEY": "k"}
    assert catalog.profile("home") is None


@pytest.mark.clause("agents-stop-signal")
@pytest.mark.parametrize("agent", ["codex", "grok", "hermes", "fast-agent"])
def test_agents_that_exit_slowly_at_the_end_of_stdin_are_stopped_by_a_signal(agent: str) -> None:
    """Measured when idle: codex 2.1 s, grok 2.2 s, hermes 1.8 s, fast-agent 1.6 s; with SIGTERM at once."""
    assert Catalog().get(agent).sigterm_at_once
    assert not Catalog().get("claude").sigterm_at_once
