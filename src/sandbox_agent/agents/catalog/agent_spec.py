"""One agent of the catalogue: how it is installed, started and described.

The classes here and in `launch` are NamedTuples: dataclasses would add 8 ms to the start of the first agent.
Their annotations are types, not strings (no `from __future__ import annotations`): `typing` compiles each
string, which takes 1 ms for these two classes.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, get_args

from sandbox_agent.agents.catalog.agent_table import Asks

CAPABILITIES = (
    "planMode",
    "permissions",
    "questions",
    "toolCalls",
    "toolResults",
    "textMessages",
    "images",
    "fileAttachments",
    "sessionLifecycle",
    "errorEvents",
    "reasoning",
    "status",
    "commandExecution",
    "fileChanges",
    "mcpTools",
    "streamingDeltas",
    "itemStarted",
    "sharedProcess",
)
"""The capability flags of `GET /v1/agents`, in the order of the response."""

ASKS: tuple[str, ...] = get_args(Asks)
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


class InstallStep(NamedTuple):
    """Packages of one source that are installed into one folder below the agent's root."""

    source: str
    """`npm` or `pypi`."""
    packages: tuple[str, ...]
    into: str = "."
    python: str | None = None
    """The oldest Python that runs the packages, such as `3.12`."""
    check: tuple[str, ...] = ()
    """Files that must exist afterwards: npm can skip a platform's package without an error."""
    native: bool = False
    """The packages are the vendor's own program, not the ACP adapter around it."""
    on_request: bool = False
    """Installed only for a request that names a version of the vendor's program; the adapter includes one."""
    program: str | None = None
    """The path of the vendor's program below the agent's root."""
    env: Mapping[str, str] = _NO_VARIABLES
    """Variables that make the adapter use that program; the server's environment overrides them."""


class AgentSpec(NamedTuple):
    """The fields of an `[[agent]]` table; `agent_table` describes each key."""

    id: str
    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = _NO_VARIABLES
    default_env: Mapping[str, str] = _NO_VARIABLES
    cwd: str | None = None
    on_path: tuple[str, ...] = ()
    native: str | None = None
    native_file: str | None = None
    node: int | None = None
    install: tuple[InstallStep, ...] = ()
    registry: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Per provider, the variables under which the agent gets its key."""
    capabilities: frozenset[str] = frozenset()
    asks: str | None = None
    """One of `ASKS`; None if it is not known."""
    size_mb: int | None = None
    verify_env: Mapping[str, str] = _NO_VARIABLES
    quirks: tuple[str, ...] = ()
    skills_directory: str | None = None
    session_folders: tuple[str, ...] = ()
    """Below the home, where it keeps a folder for each directory in which it had a session."""
    builtin: bool = False
    """Part of this package: nothing to install."""
    adapter: str | None = None
    """The name of the adapter in this package that runs the `native` program."""
    sigterm_at_once: bool = False
    """It is slow to exit, or never exits, when its stdin ends."""
    allowed_tools: str | None = None
    """The parameter of `session/new` that lists the built-in tools it may use, as a path with dots."""

    @property
    def is_local(self) -> bool:
        """The command is a program that the user has put on the machine: nothing to install."""
        return bool(self.command) and not self.install

    @property
    def usual_steps(self) -> tuple[InstallStep, ...]:
        """The steps of every install; the first one sets the agent's version."""
        return tuple(step for step in self.install if not step.on_request)

    @property
    def is_one_program(self) -> bool:
        """The adapter and the vendor's program are one package, so there is one version to choose."""
        if len(self.install) > 1:
            return False
        return self.native is None or any(step.native for step in self.install)
