"""Turn one `[[agent]]` table into an `AgentSpec`, or say which key is wrong and what it must be.

The built-in catalogue and the user's file have the same form and go through the same parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sandbox_agent.agents.catalog.agent_spec import ASKS, CAPABILITIES, AgentSpec, InstallStep

_AGENT_KEYS = frozenset(
    "id name command args env default_env cwd on_path native native_file node install registry "
    "credentials keys asks capabilities size_mb verify_env quirks builtin adapter "
    "skills_directory session_folders stop_signal allowed_tools".split()
)
_STEP_KEYS = frozenset("npm pypi into python check native on_request program env".split())
_PROVIDER_VARIABLES = {"anthropic": "env:ANTHROPIC_API_KEY", "openai": "env:OPENAI_API_KEY"}
"""What an agents file may write instead of the variable."""
_AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class CatalogError(ValueError):
    """An agents file that cannot be used; the text names the file, the agent and the fault."""


def parse_agent(raw: Mapping[str, Any], where: str) -> AgentSpec:
    """The agent of one `[[agent]]` table; `where` names the table in error messages.

    Raises `CatalogError`.
    """
    table = _TomlTable(raw, where)
    table.check_keys(_AGENT_KEYS)
    agent_id = table.string("id")
    if agent_id is None or not _AGENT_ID.fullmatch(agent_id):
        raise table.fault("id", "letters, digits, `.`, `_` and `-`, at most 64")
    capabilities = table.strings("capabilities")
    if unknown := [flag for flag in capabilities if flag not in CAPABILITIES]:
        raise CatalogError(f"{where}: unknown capability `{unknown[0]}`; known are {', '.join(CAPABILITIES)}")
    asks = table.string("asks")
    if asks is not None and asks not in ASKS:
        raise table.fault("asks", f"one of {', '.join(ASKS)}")
    command = table.string("command")
    if not (command or raw.get("on_path") or raw.get("registry") or raw.get("builtin") or raw.get("adapter")):
        raise CatalogError(f"{where} says neither `command` nor `registry`: there is no way to start it")
    return AgentSpec(
        id=agent_id,
        name=table.string("name") or agent_id,
        command=() if command is None else (command, *table.strings("args")),
        env=table.mapping("env"),
        default_env=table.mapping("default_env"),
        cwd=table.string("cwd"),
        on_path=table.strings("on_path"),
        native=table.string("native"),
        native_file=table.string("native_file"),
        node=table.integer("node"),
        install=tuple(_parse_step(step, f"{where}, install") for step in table.tables("install")),
        registry=table.strings("registry"),
        credentials=tuple(_PROVIDER_VARIABLES.get(one, one) for one in table.strings("credentials")),
        keys=table.lists("keys"),
        capabilities=frozenset(capabilities),
        asks=asks,
        size_mb=table.integer("size_mb"),
        verify_env=table.mapping("verify_env"),
        quirks=table.strings("quirks"),
        builtin=table.boolean("builtin"),
        adapter=table.string("adapter"),
        skills_directory=_inner_folder(table, "skills_directory", "the working directory"),
        session_folders=_inner_folders(table, "session_folders", "the home"),
        sigterm_at_once=_parse_stop_signal(table),
        allowed_tools=table.string("allowed_tools"),
    )


def _parse_stop_signal(table: _TomlTable) -> bool:
    stop_signal = table.string("stop_signal")
    if stop_signal not in (None, "SIGTERM"):
        raise table.fault("stop_signal", "SIGTERM, the only signal that can come with the end of stdin")
    return stop_signal is not None


def _parse_step(raw: Mapping[str, Any], where: str) -> InstallStep:
    table = _TomlTable(raw, where)
    table.check_keys(_STEP_KEYS)
    sources = [source for source in ("npm", "pypi") if source in raw]
    if len(sources) != 1 or not table.strings(sources[0]):
        raise CatalogError(f"{where}: each step names packages of either `npm` or `pypi`")
    into = _inner_folder(table, "into", "the agent's root") or "."
    return InstallStep(
        source=sources[0],
        packages=table.strings(sources[0]),
        into=into,
        python=table.string("python"),
        check=table.strings("check"),
        native=table.boolean("native"),
        on_request=table.boolean("on_request"),
        program=table.string("program"),
        env=table.mapping("env"),
    )


def _inner_folder(table: _TomlTable, key: str, root: str) -> str | None:
    folder = table.string(key)
    if folder is not None and _leads_out(folder):
        raise table.fault(key, f"a folder below {root}")
    return folder


def _inner_folders(table: _TomlTable, key: str, root: str) -> tuple[str, ...]:
    folders = table.strings(key)
    if any(map(_leads_out, folders)):
        raise table.fault(key, f"folders below {root}")
    return folders


def _leads_out(folder: str) -> bool:
    return folder.startswith("/") or ".." in folder.split("/")


class _TomlTable:
    """Typed access to one TOML table; each method raises `CatalogError` for a value of another type."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self._table, self._where = table, where

    def fault(self, key: str, expected: str) -> CatalogError:
        return CatalogError(f"{self._where}: `{key}` must be {expected}")

    def check_keys(self, known: frozenset[str]) -> None:
        if unknown := sorted(set(self._table) - known):
            raise CatalogError(
                f"{self._where}: unknown key `{unknown[0]}`; known are {', '.join(sorted(known))}"
            )

    def string(self, key: str) -> str | None:
        value = self._table.get(key)
        if value is not None and not (isinstance(value, str) and value):
            raise self.fault(key, "a string that is not empty")
        return value

    def integer(self, key: str) -> int | None:
        value = self._table.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.fault(key, "a whole number")
        return value

    def boolean(self, key: str) -> bool:
        value = self._table.get(key, False)
        if not isinstance(value, bool):
            raise self.fault(key, "true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(key, "a list of strings")
        return tuple(value)

    def mapping(self, key: str) -> dict[str, str]:
        value = self._table.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self.fault(key, "a table of strings")
        return dict(value)

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        value = self._table.get(key, {})
        if not isinstance(value, dict):
            raise self.fault(key, "a table of lists of strings")
        inner = _TomlTable(value, f"{self._where}, {key}")
        return {name: inner.strings(name) for name in value}

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.fault(key, "a list of tables")
        return value
