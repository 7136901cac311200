"""Credentials of this machine: found in a fixed order, never printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.agents.catalog.catalog import Catalog, builtin_ids
from sandbox_agent.agents.credentials import (
    available_for,
    credential_variables,
    discover,
    environment_of,
    exported_keys,
)

LATER, EARLIER = "2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z"


def put(home: Path, name: str, document: Any) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def found(home: Path, provider: str = "anthropic", **environ: str) -> tuple[str, str] | None:
    credential = discover(environ, home).get(provider)
    return (credential.api_key, credential.auth_type) if credential else None


@pytest.mark.clause("spec3-credential-variables")
def test_environment_comes_first_in_its_order(tmp_path: Path) -> None:
    put(tmp_path, ".claude.json", {"primaryApiKey": "sk-ant-file"})
    order = ["ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"]
    environ = {name: name for name in order}
    for name in order:
        kind = "api_key" if name.endswith("KEY") else "oauth"
        assert found(tmp_path, **environ) == (name, kind)
        del environ[name]
    assert found(tmp_path, **environ) == ("sk-ant-file", "api_key")


def test_openai_order(tmp_path: Path) -> None:
    put(tmp_path, ".codex/auth.json", {"OPENAI_API_KEY": None, "tokens": {"access_token": "t"}})
    assert found(tmp_path, "openai", OPENAI_API_KEY="a", CODEX_API_KEY="b") == ("a", "api_key")
    assert found(tmp_path, "openai", CODEX_API_KEY="b") == ("b", "api_key")
    assert found(tmp_path, "openai") == ("t", "oauth")
    put(tmp_path, ".codex/auth.json", {"OPENAI_API_KEY": "k", "tokens": {"access_token": "t"}})
    assert found(tmp_path, "openai") == ("k", "api_key")


@pytest.mark.parametrize(
    "document",
    [
        {"anthropicApiKey": "k"},
        {"token": "k"},
        {"auth": {"token": "k"}},
        {"anthropic": {"apiKey": "k"}},
        {"apiKey": "", "accessToken": "k"},
    ],
)
def test_amp_file_in_all_its_forms(tmp_path: Path, document: Any) -> None:
    put(tmp_path, ".amp/config.json", document)
    assert found(tmp_path) == ("k", "api_key")


def test_claude_key_must_look_like_one(tmp_path: Path) -> None:
    put(tmp_path, ".claude.json.api", {"apiKey": "something else"})
    put(tmp_path, ".claude.json", {"primaryApiKey": "nope", "customApiKey": "sk-ant-x"})
    assert found(tmp_path) == ("sk-ant-x", "api_key")


def test_expired_login_is_skipped(tmp_path: Path) -> None:
    put(
        tmp_path, ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "old", "expiresAt": EARLIER}}
    )
    put(
        tmp_path,
        ".claude-oauth-credentials.json",
        {"claudeAiOauth": {"accessToken": "new", "expiresAt": LATER}},
    )
    assert found(tmp_path) == ("new", "oauth")
    assert not discover({}, tmp_path, include_oauth=False)


def test_opencode_file_gives_every_provider(tmp_path: Path) -> None:
    document = {
        "anthropic": {"type": "api", "key": "a"},
        "openai": {"type": "oauth", "access": "o", "expires": 4_000_000_000_000},
        "groq": {"type": "api", "key": "g"},
        "stale": {"type": "oauth", "access": "s", "expires": 1},
        "odd": 5,
    }
    put(tmp_path, ".local/share/opencode/auth.json", document)
    keys = {provider: credential.api_key for provider, credential in discover({}, tmp_path).items()}
    assert keys == {"anthropic": "a", "openai": "o", "groq": "g"}
    assert environment_of(discover({}, tmp_path)) == {
        "ANTHROPIC_API_KEY": "a",
        "CLAUDE_API_KEY": "a",
        "OPENAI_API_KEY": "o",
        "CODEX_API_KEY": "o",
        "GROQ_API_KEY": "g",
    }


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '"x"', '{"claudeAiOauth": 1}', '{"tokens": []}', "\x00"]
)
def test_malformed_files_are_skipped(tmp_path: Path, text: str) -> None:
    for name in (".amp/config.json", ".claude.json", ".claude/.credentials.json", ".codex/auth.json"):
        put(tmp_path, name, text)
    put(tmp_path, ".local/share/opencode/auth.json", text)
    assert discover({}, tmp_path) == {}


@pytest.mark.clause("decision-44")
def test_nothing_found_means_not_available_for_all_but_the_mock(tmp_path: Path) -> None:
    catalog = Catalog()
    available = {agent for agent in builtin_ids() if available_for(catalog.get(agent), {}, tmp_path)}
    assert available == {"mock"}


BOTH = {"opencode", "opencode-native", "pi", "goose", "hermes", "fast-agent", "kilo", "gptme"}
"""Agents that take a key of either of the two large providers."""


@pytest.mark.clause("decision-44")
@pytest.mark.parametrize(
    ("variable", "agents"),
    [
        ("ANTHROPIC_API_KEY", {"claude", "claude-native", *BOTH}),
        ("CLAUDE_API_KEY", {"claude", "claude-native"}),
        ("CLAUDE_CODE_OAUTH_TOKEN", {"claude", "claude-native"}),
        ("ANTHROPIC_AUTH_TOKEN", {"claude", "claude-native"}),
        ("CODEX_API_KEY", {"codex", "codex-native"}),
        ("OPENAI_API_KEY", {"codex", "codex-native", "qwen", *BOTH}),
        ("AMP_API_KEY", {"amp", "amp-native"}),
        ("CURSOR_API_KEY", {"cursor"}),
        ("XAI_API_KEY", {"grok", "pi"}),
    ],
)
def test_available_means_a_credential_the_agent_reads(
    tmp_path: Path, variable: str, agents: set[str]
) -> None:
    catalog = Catalog()
    environ = {variable: "k"}
    available = {agent for agent in builtin_ids() if available_for(catalog.get(agent), environ, tmp_path)}
    assert available == agents | {"mock"}


@pytest.mark.clause("decision-44")
def test_file_an_agent_reads_makes_it_available(tmp_path: Path) -> None:
    spec = Catalog().get("gemini")
    put(tmp_path, ".gemini/oauth_creds.json", "{}")
    assert not available_for(spec, {}, tmp_path)
    put(tmp_path, ".gemini/oauth_creds.json", {"access_token": "x"})
    assert available_for(spec, {}, tmp_path)


@pytest.mark.clause("decision-44")
@pytest.mark.parametrize(
    ("name", "document", "agents"),
    [
        (".claude.json", {"primaryApiKey": "sk-ant-x"}, {"claude", "claude-native"}),
        (".claude.json", {"numStartups": 3}, set()),
        (".claude.json.api", {"apiKey": "sk-ant-x"}, set()),
        (".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "t"}}, {"claude", "claude-native"}),
        (".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "t", "expiresAt": EARLIER}}, set()),
        (
            ".claude/.credentials.json",
            {"claudeAiOauth": {"accessToken": "t", "expiresAt": EARLIER, "refreshToken": "r"}},
            {"claude", "claude-native"},
        ),
        (".codex/auth.json", {"OPENAI_API_KEY": "k"}, {"codex", "codex-native"}),
        (".codex/auth.json", {"tokens": {"access_token": "t"}}, {"codex", "codex-native"}),
        (".codex/auth.json", {"OPENAI_API_KEY": None}, set()),
        (
            ".local/share/opencode/auth.json",
            {"anthropic": {"type": "api", "key": "k"}},
            {"opencode", "opencode-native"},
        ),
    ],
)
def test_file_counts_only_for_the_agents_that_read_it(
    tmp_path: Path, name: str, document: Any, agents: set[str]
) -> None:
    put(tmp_path, name, document)
    catalog = Catalog()
    available = {agent for agent in builtin_ids() if available_for(catalog.get(agent), {}, tmp_path)}
    assert available == agents | {"mock"}


@pytest.mark.clause("spec3-credential-variables", "decision-45")
def test_only_keys_are_exported_never_logins(tmp_path: Path) -> None:
    put(tmp_path, ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "t", "expiresAt": LATER}})
    put(tmp_path, ".codex/auth.json", {"OPENAI_API_KEY": "k"})
    catalog = Catalog()
    assert exported_keys(catalog.get("claude"), {}, tmp_path) == {}
    assert exported_keys(catalog.get("codex"), {}, tmp_path) == {"OPENAI_API_KEY": "k", "CODEX_API_KEY": "k"}
    assert exported_keys(catalog.get("opencode"), {}, tmp_path) == {"OPENAI_API_KEY": "k"}
    assert exported_keys(catalog.get("goose"), {}, tmp_path) == {}


def test_key_is_not_in_the_repr(tmp_path: Path) -> None:
    credential = discover({"ANTHROPIC_API_KEY": "sk-ant-secret"}, tmp_path)["anthropic"]
    assert "secret" not in repr(credential) and "environment" in repr(credential)


OWN_PROVIDERS = [
    (
        "codex",
        ".codex/config.toml",
        'model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://x"\n',
    ),
    ("codex-native", ".codex/config.toml", 'model_provider = "mine"\n'),
    ("opencode", ".config/opencode/opencode.json", {"provider": {"mine": {"options": {}}}}),
    ("mistral-vibe", ".vibe/config.toml", '[[providers]]\nname = "mine"\n'),
]


@pytest.mark.clause("agents-own-providers")
@pytest.mark.parametrize(("agent", "path", "document"), OWN_PROVIDERS)
def test_a_provider_in_the_agents_own_config_counts(
    tmp_path: Path, agent: str, path: str, document: Any
) -> None:
    spec = Catalog().get(agent)
    assert not available_for(spec, {}, tmp_path)
    put(tmp_path, path, {"theme": "dark"} if path.endswith(".json") else 'theme = "dark"\n')
    assert not available_for(spec, {}, tmp_path), "a config without a provider says nothing"
    put(tmp_path, path, document)
    assert available_for(spec, {}, tmp_path)
    put(tmp_path, path, "not a config {")
    assert not available_for(spec, {}, tmp_path)


@pytest.mark.clause("agents-own-providers")
@pytest.mark.parametrize(
    ("agent", "variable", "config"),
    [
        ("codex", "CODEX_CONFIG", {"model_provider": "mine"}),
        ("opencode", "OPENCODE_CONFIG_CONTENT", {"provider": {"mine": {}}}),
        ("kilo", "KILO_CONFIG_CONTENT", {"provider": {"mine": {}}}),
    ],
)
def test_a_provider_in_a_variable_counts_and_is_no_key(
    tmp_path: Path, agent: str, variable: str, config: dict[str, Any]
) -> None:
    spec = Catalog().get(agent)
    assert available_for(spec, {variable: json.dumps(config)}, tmp_path)
    assert not available_for(spec, {variable: '{"permission": {"bash": "ask"}}'}, tmp_path)
    assert not available_for(spec, {variable: "{"}, tmp_path)
    assert credential_variables(spec) and variable not in "".join(credential_variables(spec))
