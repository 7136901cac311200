"""One agent of the catalogue as a value: how it is installed, started and described.

`parse_agent` turns one `[[agent]]` table of a TOML file into an `AgentSpec` and says in plain words what
is wrong with it otherwise. The built-in catalogue and a user's own file have the same form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
"""The flags of `GET /v1/agents`, in the order of the wire."""

OPTION_CATEGORIES = ("model", "mode", "thought_level")

_LONGEST_ID = 64
_OTHERS_IN_IDS = dict.fromkeys(map(ord, "._-"))


class CatalogError(ValueError):
    """An agents file that cannot be used; the text names the file, the agent and the fault."""


class _Value:
    """Equal to another one with equal fields."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class InstallStep(_Value):
    """Packages of one source that go into one folder below the agent's root."""

    def __init__(
        self,
        source: str,
        packages: tuple[str, ...],
        into: str = ".",
        python: str | None = None,
        check: tuple[str, ...] = (),
        native: bool = False,
        on_request: bool = False,
        program: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.source = source
        """`npm` or `pypi`."""
        self.packages = packages
        self.into = into
        self.python = python
        """The oldest Python that runs the packages, such as `3.12`."""
        self.check = check
        """Files that must be there afterwards: npm may skip a platform's package without a word."""
        self.native = native
        """The packages are the vendor's own program, not the ACP adapter around it."""
        self.on_request = on_request
        """Only for those who ask for a version of the vendor's program: the adapter brings one along."""
        self.program = program
        """Where the vendor's program lies, below the agent's root."""
        self.env = env or {}
        """What tells the adapter to use that program; gives way to the server's environment."""


class AgentSpec(_Value):
    def __init__(
        self,
        *,
        id: str,
        name: str,
        command: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        default_env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        on_path: tuple[str, ...] = (),
        native: str | None = None,
        native_file: str | None = None,
        node: int | None = None,
        install: tuple[InstallStep, ...] = (),
        registry: tuple[str, ...] = (),
        credentials: tuple[str, ...] = (),
        capabilities: frozenset[str] = frozenset(),
        options: Mapping[str, tuple[str, ...]] | None = None,
        size_mb: int | None = None,
        verify_env: Mapping[str, str] | None = None,
        quirks: tuple[str, ...] = (),
        builtin: bool = False,
        adapter: str | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.command = command
        self.env = env or {}
        self.default_env = default_env or {}
        self.cwd = cwd
        self.on_path = on_path
        self.native = native
        self.native_file = native_file
        self.node = node
        self.install = install
        self.registry = registry
        self.credentials = credentials
        self.capabilities = capabilities
        self.options = options or {}
        self.size_mb = size_mb
        self.verify_env = verify_env or {}
        """What the first start after an install needs, if the agent does not start unconfigured."""
        self.quirks = quirks
        self.builtin = builtin
        """Part of this program: nothing to install."""
        self.adapter = adapter
        """Our own ACP adapter of that name runs the `native` program."""

    @property
    def is_local(self) -> bool:
        """The command is a program the user has put on the machine: nothing to install."""
        return bool(self.command) and not self.install

    @property
    def usual_steps(self) -> tuple[InstallStep, ...]:
        """The steps of every install; the first gives the agent its version."""
        return tuple(step for step in self.install if not step.on_request)

    @property
    def is_one_program(self) -> bool:
        """Adapter and vendor's program are the same package, so there is only one version to choose."""
        if len(self.install) > 1:
            return False
        return self.native is None or any(step.native for step in self.install)


class _Table:
    """Typed access to one TOML table, with faults in plain words."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self.table, self.where = table, where

    def fail(self, key: str, wanted: str) -> CatalogError:
        return CatalogError(f"{self.where}: `{key}` must be {wanted}")

    def only(self, known: frozenset[str]) -> None:
        if unknown := sorted(set(self.table) - known):
            raise CatalogError(
                f"{self.where}: unknown key `{unknown[0]}`; known are {', '.join(sorted(known))}"
            )

    def string(self, key: str) -> str | None:
        value = self.table.get(key)
        if value is not None and not (isinstance(value, str) and value):
            raise self.fail(key, "a string that is not empty")
        return value

    def integer(self, key: str) -> int | None:
        value = self.table.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.fail(key, "a whole number")
        return value

    def boolean(self, key: str) -> bool:
        value = self.table.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(key, "true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(key, "a list of strings")
        return tuple(value)

    def mapping(self, key: str) -> dict[str, str]:
        value = self.table.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self.fail(key, "a table of strings")
        return dict(value)

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        value = self.table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.fail(key, "a list of tables")
        return value


_AGENT_KEYS = frozenset(
    "id name command args env default_env cwd on_path native native_file node install registry credentials "
    "capabilities options size_mb verify_env quirks builtin adapter".split()
)
_STEP_KEYS = frozenset("npm pypi into python check native on_request program env".split())


def parse_agent(raw: Mapping[str, Any], where: str) -> AgentSpec:
    """The agent of one `[[agent]]` table; `where` names the table in error messages."""
    table = _Table(raw, where)
    table.only(_AGENT_KEYS)
    agent_id = table.string("id")
    if agent_id is None or not _is_id(agent_id):
        raise table.fail("id", "letters, digits, `.`, `_` and `-`, at most 64")
    capabilities = table.strings("capabilities")
    if unknown := [flag for flag in capabilities if flag not in CAPABILITIES]:
        raise CatalogError(f"{where}: unknown capability `{unknown[0]}`; known are {', '.join(CAPABILITIES)}")
    command = table.string("command")
    if not (command or raw.get("on_path") or raw.get("registry") or raw.get("builtin") or raw.get("adapter")):
        raise CatalogError(f"{where} says neither `command` nor `registry`: how would it start?")
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
        credentials=table.strings("credentials"),
        capabilities=frozenset(capabilities),
        options=_parse_options(raw.get("options", {}), where),
        size_mb=table.integer("size_mb"),
        verify_env=table.mapping("verify_env"),
        quirks=table.strings("quirks"),
        builtin=table.boolean("builtin"),
        adapter=table.string("adapter"),
    )


def _is_id(text: str) -> bool:
    plain = text.translate(_OTHERS_IN_IDS)
    return text[0].isalnum() and plain.isalnum() and text.isascii() and len(text) <= _LONGEST_ID


def _parse_step(raw: Mapping[str, Any], where: str) -> InstallStep:
    table = _Table(raw, where)
    table.only(_STEP_KEYS)
    sources = [source for source in ("npm", "pypi") if source in raw]
    if len(sources) != 1 or not table.strings(sources[0]):
        raise CatalogError(f"{where}: each step names packages of either `npm` or `pypi`")
    into = table.string("into") or "."
    if into.startswith("/") or ".." in into.split("/"):
        raise table.fail("into", "a folder below the agent's root")
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


def _parse_options(raw: Any, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(raw, dict) or set(raw) - set(OPTION_CATEGORIES):
        raise CatalogError(f"{where}: `options` must be a table with {', '.join(OPTION_CATEGORIES)}")
    table = _Table(raw, f"{where}, options")
    return {category: values for category in OPTION_CATEGORIES if (values := table.strings(category))}
