"""Find API keys and OAuth tokens on this machine, and the agents that can use them.

Environment variables and the files of other tools are read in a fixed order. Nothing here raises: a missing
or malformed file is skipped. Values are returned to callers and never printed.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.launch.key_names import other_names


@dataclass(frozen=True, slots=True)
class Credential:
    provider: str
    api_key: str
    source: str
    """`environment` or the path of a file, without the key."""
    auth_type: str = "api_key"
    """`api_key` or `oauth`."""

    def __repr__(self) -> str:
        return f"Credential({self.provider}, {self.auth_type}, from {self.source})"


_AMP_KEYS = (
    *("anthropicApiKey", "anthropic_api_key", "apiKey", "api_key", "accessToken", "access_token", "token"),
    *("auth.anthropicApiKey", "auth.apiKey", "auth.token", "anthropic.apiKey", "anthropic.token"),
)
_CLAUDE_KEYS = ("primaryApiKey", "apiKey", "anthropicApiKey", "customApiKey")
_OPENCODE_FILE = ".local/share/opencode/auth.json"


def discover(
    environ: Mapping[str, str] | None = None, home: Path | None = None, *, include_oauth: bool = True
) -> dict[str, Credential]:
    """The preferred credential of each provider: `anthropic`, `openai`, and others that OpenCode knows."""
    environ = os.environ if environ is None else environ
    home = home or Path(environ.get("HOME") or "/")
    found: dict[str, Credential] = {}
    for candidate in _candidates(environ, home):
        if include_oauth or candidate.auth_type != "oauth":
            found.setdefault(candidate.provider, candidate)
    return found


def environment_of(credentials: Mapping[str, Credential]) -> dict[str, str]:
    """The variables that carry these credentials, as `credentials extract-env` prints them."""
    names = {
        "anthropic": ("ANTHROPIC_API_KEY", "CLAUDE_API_KEY"),
        "openai": ("OPENAI_API_KEY", "CODEX_API_KEY"),
    }
    variables = {}
    for provider, credential in credentials.items():
        generic = re.sub(r"\W", "_", provider).upper() + "_API_KEY"
        for name in names.get(provider, (generic,)):
            variables[name] = credential.api_key
    return variables


def available_for(
    spec: AgentSpec, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> bool:
    """Whether a credential that the agent reads was found; true for an agent that needs none.

    `environ` is what the server has; the agent gets its keys under further names (`keys` of the catalogue).
    """
    if spec.builtin or not spec.credentials:
        return True
    environ = os.environ if environ is None else environ
    home = home or Path(environ.get("HOME") or "/")
    variables = {**environ, **other_names(spec, environ)}
    return any(_is_there(source, variables, home) for source in spec.credentials)


def credential_variables(spec: AgentSpec) -> list[str]:
    """The names of the variables that hold a key for the agent."""
    return [
        name
        for source in spec.credentials
        if (name := source.removeprefix("env:")) != source and "#" not in name
    ]


def _is_there(source: str, variables: Mapping[str, str], home: Path) -> bool:
    kind, _, place = source.partition(":")
    name, _, key = place.partition("#")
    if kind == "env":
        value = variables.get(name, "").strip()
        return _has_key(_parsed(value), key) if key else bool(value)
    file = home / name.removeprefix("~/")
    return _has_key(_read(file), key) if key else _has_content(file)


def _has_key(document: Any, dotted: str) -> bool:
    """Whether the key has a value; an expired login counts only if the agent can renew it."""
    entry = _at(document, dotted.rpartition(".")[0]) if "." in dotted else document
    value = _at(document, dotted)
    return bool(value.strip() if isinstance(value, str) else value) and (
        not _has_expired(_at(entry, "expiresAt")) or bool(_text(entry, "refreshToken"))
    )


def exported_keys(
    spec: AgentSpec, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> dict[str, str]:
    """API keys found in files, under the names that the agent gets; for `--pass-credentials`."""
    found = discover(environ, home, include_oauth=False) if spec.keys else {}
    return {
        name: found[provider].api_key
        for provider, names in spec.keys.items()
        if provider in found
        for name in names
    }


def _candidates(environ: Mapping[str, str], home: Path) -> Iterator[Credential]:
    """All credentials, the preferred one of each provider first."""
    for provider, name, auth_type in (
        ("anthropic", "ANTHROPIC_API_KEY", "api_key"),
        ("anthropic", "CLAUDE_API_KEY", "api_key"),
        ("anthropic", "CLAUDE_CODE_OAUTH_TOKEN", "oauth"),
        ("anthropic", "ANTHROPIC_AUTH_TOKEN", "oauth"),
        ("openai", "OPENAI_API_KEY", "api_key"),
        ("openai", "CODEX_API_KEY", "api_key"),
    ):
        if value := environ.get(name, "").strip():
            yield Credential(provider, value, "environment", auth_type)
    yield from _from_keys(home / ".amp/config.json", _AMP_KEYS)
    for name in (".claude.json.api", ".claude.json"):
        yield from _from_keys(home / name, _CLAUDE_KEYS, lambda key: key.startswith("sk-ant-"))
    for name in (".claude/.credentials.json", ".claude-oauth-credentials.json"):
        yield from _claude_oauth(home / name)
    yield from _codex(home / ".codex/auth.json")
    yield from _opencode(home / _OPENCODE_FILE)


def _from_keys(
    path: Path, keys: tuple[str, ...], accepts: Callable[[str], bool] = bool
) -> Iterator[Credential]:
    document = _read(path)
    for key in keys:
        if (value := _text(document, key)) and accepts(value):
            yield Credential("anthropic", value, str(path))
            return


def _claude_oauth(path: Path) -> Iterator[Credential]:
    document = _read(path)
    token = _text(document, "claudeAiOauth.accessToken")
    if token and not _has_expired(_at(document, "claudeAiOauth.expiresAt")):
        yield Credential("anthropic", token, str(path), "oauth")


def _codex(path: Path) -> Iterator[Credential]:
    document = _read(path)
    if key := _text(document, "OPENAI_API_KEY"):
        yield Credential("openai", key, str(path))
    elif token := _text(document, "tokens.access_token"):
        yield Credential("openai", token, str(path), "oauth")


def _opencode(path: Path) -> Iterator[Credential]:
    document = _read(path)
    entries: dict[str, Any] = document if isinstance(document, dict) else {}
    for provider, entry in entries.items():
        if _text(entry, "type") == "api" and (key := _text(entry, "key")):
            yield Credential(provider, key, str(path))
        elif _text(entry, "type") == "oauth" and (token := _text(entry, "access")):
            if not _has_expired(_at(entry, "expires")):
                yield Credential(provider, token, str(path), "oauth")


def _has_expired(moment: Any) -> bool:
    """For milliseconds since 1970 and RFC 3339 strings; an unreadable value counts as not expired."""
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return moment / 1000 < datetime.now(UTC).timestamp()
    if isinstance(moment, str):
        try:
            when = datetime.fromisoformat(moment)
        except ValueError:
            return False
        return (when if when.tzinfo else when.replace(tzinfo=UTC)) < datetime.now(UTC)
    return False


def _read(path: Path) -> Any:
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return None
    return _parsed(text, is_toml=path.suffix == ".toml")


def _parsed(text: str, *, is_toml: bool = False) -> Any:
    try:
        return tomllib.loads(text) if is_toml else json.loads(text)
    except (ValueError, RecursionError):
        return None


def _at(document: Any, dotted: str) -> Any:
    for key in dotted.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _text(document: Any, dotted: str) -> str | None:
    value = _at(document, dotted)
    return value.strip() or None if isinstance(value, str) else None


def _has_content(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > len("{}\n")
    except OSError:
        return False
