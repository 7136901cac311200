"""The form of one agent's table: a built-in agent, or an `[[agent]]` table of a user's agents.toml.

The built-in tables are Python and not TOML because the first request for an agent would wait 9 ms for the
parser. `agent_parser` turns a table into an `AgentSpec`.
"""

from typing import Literal, Required, TypedDict

Asks = Literal["always", "partly", "terminal", "never"]
"""Whether an agent asks before its tools run.

`always`: before every tool that changes something. `partly`: before some tools, or as its own config or mode
says. `terminal`: only clients that serve `terminal` and `fs`. `never`: every tool runs.
"""

USUAL_CAPABILITIES = (
    "toolCalls",
    "toolResults",
    "textMessages",
    "errorEvents",
    "streamingDeltas",
    "itemStarted",
)
"""What most agents can do (`agent_spec.CAPABILITIES` has all flags); a table adds its own to them."""
COMPLETE_CAPABILITIES = (
    *USUAL_CAPABILITIES,
    "permissions",
    "images",
    "fileAttachments",
    "sessionLifecycle",
    "reasoning",
    "commandExecution",
    "fileChanges",
    "mcpTools",
)
"""What agents can do that use all of ACP; plans, questions and status updates are not part of it."""


class InstallTable(TypedDict, total=False):
    """Packages of one source; the first step sets the agent's version."""

    npm: list[str]
    pypi: list[str]
    into: str
    """The folder of the packages below the agent's root."""
    python: str
    """The oldest Python that runs the packages."""
    check: list[str]
    """Files that must exist afterwards."""
    native: bool
    """The packages are the vendor's own program; `agentVersion` of an install request sets their version."""
    on_request: bool
    """Installed only for a request with `agentVersion`."""
    program: str
    """The path of the vendor's program in the packages."""
    env: dict[str, str]
    """Variables that make the adapter use that program instead of its own."""


class AgentTable(TypedDict, total=False):
    """What is known of one agent. Texts may contain {root}, {node} and {platform}."""

    id: Required[str]
    """The name used in `?agent=`."""
    name: str
    command: str
    """How an installed agent is started: {root} is the folder of its packages, {node} a Node.js of at least
    version `node`, {platform} the npm name of this machine (linux-x64)."""
    args: list[str]
    env: dict[str, str]
    """Variables the agent always gets."""
    default_env: dict[str, str]
    """Variables it gets unless the server's environment has them."""
    cwd: str
    """Its working directory; by default the server's."""
    on_path: list[str]
    """The command if the user has installed the program; `native` must be installed as well."""
    native: str
    """The vendor's own program."""
    native_file: str
    """Its path in the packages."""
    node: int
    """The oldest major version of Node the agent runs on."""
    install: list[InstallTable]
    registry: list[str]
    """Names of the agent in the ACP registry."""
    credentials: list[str]
    """What the agent reads: `env:NAME`, `file:PATH`, or either with `#key.in.its.json` (or TOML), which may
    be a provider of the user's own that needs no key."""
    keys: dict[str, list[str]]
    """Provider -> the names under which the agent gets the key of that provider; a key that is set under one
    of them is passed under all of them."""
    asks: Asks
    """Whether it asks before its tools run."""
    capabilities: list[str]
    verify_env: dict[str, str]
    """Variables for the first start after an install, if the agent does not start unconfigured."""
    builtin: bool
    """Part of this package: nothing to install."""
    adapter: str
    """The ACP adapter of this package that runs the `native` program; there is no `command`."""
    stop_signal: str
    """SIGTERM if the agent takes long to exit when its stdin ends, so that it gets both at once."""
    size_mb: int
    """Size on disk, for the progress bar."""
    skills_directory: str
    """Where the agent looks for skills, below the working directory."""
    session_folders: list[str]
    """Below the home, where it keeps a folder for each directory in which it had a session; the one of a
    probe is removed."""
    allowed_tools: str
    """The parameter of `session/new` that lists the built-in tools of the session, with dots."""
    quirks: list[str]
    """Observed behaviour; docs/agents.md prints it."""
