"""The table of server settings: name, flags, environment variable, default, bounds and help text.

A new flag is a new line of `Settings`; `cli/server/settings_parser.py` reads them all from the command line
and the environment.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MIB = 1024 * 1024


class SettingsError(ValueError):
    """A setting has an invalid value; the message names its flag or variable."""


class Setting:
    """One setting: its default, its names on the command line and in the environment, its valid values."""

    def __init__(
        self,
        default: Any,
        flags: Sequence[str],
        help: str,
        env: Sequence[str],
        minimum: int,
        choices: Sequence[str],
        invalid_variable_is_default: bool,
    ) -> None:
        self.name = ""  # set by `__set_name__`
        self.default = default
        self.flags = tuple(flags)
        self.help = help
        self.minimum = minimum
        self.choices = tuple(choices)
        self.invalid_variable_is_default = invalid_variable_is_default
        self._more_variables = tuple(env)

    @property
    def variables(self) -> tuple[str, ...]:
        return ("SANDBOX_AGENT_" + self.name.upper(), *self._more_variables)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


def _setting(
    default: Any,
    *flags: str,
    help: str,
    env: Sequence[str] = (),
    minimum: int = 1,
    choices: Sequence[str] = (),
    invalid_variable_is_default: bool = False,
) -> Any:
    """Declare a setting. Its variable is SANDBOX_AGENT_<NAME>; `env` adds others."""
    return Setting(default, flags, help, env, minimum, choices, invalid_variable_is_default)


class Settings:
    """The settings of a server. Not a dataclass: creating one of this size takes 5 ms of start-up."""

    # ---- address and access
    host: str = _setting("127.0.0.1", "-H", "--host", help="address to listen on")
    port: int = _setting(2468, "-p", "--port", help="port to listen on; 0 chooses a free one", minimum=0)
    token: str | None = _setting(None, "-t", "--token", help="token that clients have to send")
    token_file: str | None = _setting(None, "--token-file", help="file that contains the token")
    no_token: bool = _setting(False, "-n", "--no-token", help="serve without a token")
    allow_host: tuple[str, ...] = _setting(
        (), "--allow-host", env=("SANDBOX_AGENT_ALLOWED_HOSTS",), help="additional Host name to accept"
    )
    cors_allow_origin: tuple[str, ...] = _setting(
        (), "-O", "--cors-allow-origin", help="origin whose pages may use the server; '*' for all"
    )
    cors_allow_method: tuple[str, ...] = _setting(
        (), "-M", "--cors-allow-method", help="method that those pages may use (default: all)"
    )
    cors_allow_header: tuple[str, ...] = _setting(
        (), "-A", "--cors-allow-header", help="header that those pages may send (default: all)"
    )
    cors_allow_credentials: bool = _setting(
        False, "-C", "--cors-allow-credentials", help="allow those pages to send credentials"
    )
    # ---- the ACP transport
    acp_request_timeout_ms: int = _setting(
        0,
        "--acp-request-timeout-ms",
        minimum=0,
        invalid_variable_is_default=True,
        help="silence of the agent in ms after which a waiting request fails (default: 120000 before its "
        "first line, then 1800000)",
    )
    acp_heartbeat_ms: int = _setting(
        15_000, "--acp-heartbeat-ms", help="interval between heartbeats of an event stream in ms"
    )
    acp_early_header_ms: int = _setting(
        240_000,
        "--acp-early-header-ms",
        help="wait in ms after which the response header is sent before its body",
    )
    acp_early_header_interval_ms: int = _setting(
        20_000,
        "--acp-early-header-interval-ms",
        help="interval in ms between the spaces that follow that header",
    )
    replay_max_events: int = _setting(
        8192,
        "--replay-max-events",
        "--acp-ring-events",
        env=("SANDBOX_AGENT_ACP_RING_EVENTS",),
        help="events that an instance keeps in memory",
    )
    replay_max_bytes: int = _setting(
        64 * MIB,
        "--replay-max-bytes",
        "--acp-ring-bytes",
        env=("SANDBOX_AGENT_ACP_RING_BYTES",),
        help="bytes of events that an instance keeps in memory",
    )
    spill_max_bytes: int = _setting(
        1024 * MIB,
        "--spill-max-bytes",
        "--acp-spill-bytes",
        env=("SANDBOX_AGENT_ACP_SPILL_BYTES",),
        minimum=0,
        help="bytes of older events that an instance keeps on disk; 0 keeps none",
    )
    acp_max_line_bytes: int = _setting(
        64 * MIB, "--acp-max-line-bytes", help="longest line of an agent in bytes"
    )
    events: str = _setting("on", "--events", choices=("on", "off"), help="serve /v1/events: on or off")
    no_adapter_messages: bool = _setting(
        False, "--no-adapter-messages", help="do not publish _adapter/* messages on event streams"
    )
    # ---- /acp, ACP's own remote transport
    default_agent: str | None = _setting(
        None, "--default-agent", help="agent of connections to /acp that name none"
    )
    acp_detach: int = _setting(
        600,
        "--acp-detach",
        minimum=0,
        help="seconds for which the agent of a lost connection to /acp is kept; 0: it is ended at once",
    )
    acp_hold_ms: int = _setting(
        2000,
        "--acp-hold-ms",
        minimum=0,
        help="time in ms for which messages wait for the stream of their session to be opened",
    )
    acp_max_sessions: int = _setting(
        1024, "--acp-max-sessions", help="most session streams of a connection to /acp"
    )
    no_client_log: bool = _setting(
        False, "--no-client-log", help="do not keep what clients post for streams with include=client"
    )
    # ---- limits
    max_body_bytes: int = _setting(
        0,
        "--max-body-bytes",
        minimum=0,
        help="longest ACP message of a client in bytes (default: the value of --acp-max-line-bytes)",
    )
    max_json_bytes: int = _setting(
        2 * MIB, "--max-json-bytes", help="longest JSON body of other endpoints in bytes"
    )
    max_header_bytes: int = _setting(
        64 * 1024, "--max-header-bytes", help="longest request line with headers in bytes"
    )
    max_instances: int = _setting(1000, "--max-instances", help="most instances at a time")
    max_streams: int = _setting(1024, "--max-streams", help="most event streams at a time")
    request_timeout_ms: int = _setting(
        30_000,
        "--request-timeout-ms",
        help="time in ms for a client to send its headers, and for each 64 KiB of a body",
    )
    keep_alive_ms: int = _setting(
        120_000, "--keep-alive-ms", help="time in ms for which an idle connection stays open"
    )
    write_timeout_ms: int = _setting(
        60_000,
        "--write-timeout-ms",
        help="time in ms after which a client that reads nothing of its response is disconnected",
    )
    websocket_ping_ms: int = _setting(
        20_000,
        "--websocket-ping-ms",
        help="time in ms after which a silent WebSocket client is pinged; after twice the time it is closed",
    )
    busy_poll_us: int = _setting(
        100,
        "--busy-poll-us",
        minimum=0,
        help="microseconds to poll for the next message while messages follow each other; 0: do not poll",
    )
    tar_max_entries: int = _setting(
        1_000_000, "--tar-max-entries", help="most entries of an uploaded archive"
    )
    tar_max_bytes: int = _setting(
        64 * 1024 * MIB, "--tar-max-bytes", help="most unpacked bytes of an uploaded archive"
    )
    fs_timeout_ms: int = _setting(
        60_000,
        "--fs-timeout-ms",
        help="time in ms after which a file system operation without progress fails",
    )
    lease_s: int = _setting(
        0,
        "--lease-s",
        minimum=0,
        help="seconds without a request or a reading client after which the server stops its agents and "
        "exits; 0: never",
    )
    # ---- changes in the sandbox
    git: str = _setting("on", "--git", choices=("on", "off"), help="serve /v1/git: on or off")
    git_timeout_ms: int = _setting(
        20_000, "--git-timeout-ms", help="time in ms after which a git command is ended"
    )
    git_max_bytes: int = _setting(
        8 * MIB, "--git-max-bytes", help="most bytes of a git command's output; the rest is left out"
    )
    fs_watch: str = _setting("on", "--fs-watch", choices=("on", "off"), help="serve /v1/fs/watch: on or off")
    fs_watch_max_directories: int = _setting(
        20_000, "--fs-watch-max-directories", help="most directories that one watch may cover"
    )
    tool_relays: str = _setting(
        "on", "--tool-relays", choices=("on", "off"), help="serve /v1/tool-relays: on or off"
    )
    system: str = _setting("on", "--system", choices=("on", "off"), help="serve /v1/system: on or off")
    # ---- agents and files
    fs_root: str | None = _setting(
        None, "--fs-root", help="directory to which file and config endpoints are restricted"
    )
    agents_file: str | None = _setting(None, "--agents-file", help="agents.toml with additional agents")
    agents: str | None = _setting(
        None, "--agents", help="additional agents as JSON: the tables of an agents.toml by id"
    )
    agent_user: str | None = _setting(
        None, "--agent-user", help="user as which agents run (the server has to run as root)"
    )
    agent_memory_mb: int = _setting(
        0, "--agent-memory-mb", minimum=0, help="address space of each agent process in MB; 0: no limit"
    )
    agent_processes: int = _setting(
        0,
        "--agent-processes",
        minimum=0,
        help="most processes of the agents' user, which must not be root; 0: no limit",
    )
    agent_cpu_s: int = _setting(
        0, "--agent-cpu-s", minimum=0, help="CPU seconds of each agent process; 0: no limit"
    )
    agent_env_allow: tuple[str, ...] = _setting(
        (),
        "--agent-env-allow",
        help="variable that agents inherit; if given, agents inherit only the named ones",
    )
    pass_credentials: bool = _setting(
        False, "--pass-credentials", help="pass keys found in files to the agents that need them"
    )
    idle_timeout: int = _setting(
        0, "--idle-timeout", minimum=0, help="seconds after which an inactive instance is closed; 0: never"
    )
    warm: tuple[str, ...] = _setting(
        (),
        "--warm",
        help="processes to start before they are needed: AGENT=COUNT or AGENT=COUNT@DIRECTORY, with commas",
    )
    warm_idle_timeout: int = _setting(
        1800,
        "--warm-idle-timeout",
        minimum=0,
        help="seconds without a new instance of the agent after which its warm processes are ended; 0: never",
    )
    # ---- processes and terminals
    processes: str = _setting(
        "on", "--processes", choices=("on", "off"), help="on or off: /v1/processes and terminals"
    )
    process_user: str | None = _setting(
        None,
        "--process-user",
        help="user as which processes and terminals run (default: the value of --agent-user)",
    )
    process_memory_mb: int = _setting(
        0, "--process-memory-mb", minimum=0, help="address space of each such process in MB; 0: no limit"
    )
    process_cpu_s: int = _setting(
        0, "--process-cpu-s", minimum=0, help="CPU seconds of each such process; 0: no limit"
    )
    max_processes: int = _setting(64, "--max-processes", help="most running processes and terminals")
    max_exited_processes: int = _setting(
        256, "--max-exited-processes", help="most exited processes whose state and log are kept"
    )
    process_run_timeout_ms: int = _setting(
        30_000, "--process-run-timeout-ms", help="time in ms after which a run ends that names no time-out"
    )
    process_max_run_timeout_ms: int = _setting(
        300_000, "--process-max-run-timeout-ms", help="longest time-out of a run in ms"
    )
    process_output_bytes: int = _setting(
        MIB, "--process-output-bytes", help="most bytes of each stream that a run returns"
    )
    process_log_bytes: int = _setting(
        10 * MIB, "--process-log-bytes", help="log of a process in memory in bytes; the rest is kept on disk"
    )
    process_input_bytes: int = _setting(
        64 * 1024, "--process-input-bytes", help="most bytes of one input to a process"
    )
    # ---- logs
    log_level: str = _setting(
        "info",
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="debug, info, warning or error",
    )
    log_format: str = _setting("text", "--log-format", choices=("text", "json"), help="text or json")
    no_telemetry: bool = _setting(
        False, "--no-telemetry", help="accepted for compatibility; the server sends no telemetry"
    )

    def __init__(self, **values: Any) -> None:
        for item in SETTINGS:
            setattr(self, item.name, values.pop(item.name, item.default))
        if values:
            raise TypeError(f"unknown settings: {', '.join(values)}")

    @property
    def max_message_bytes(self) -> int:
        return self.max_body_bytes or self.acp_max_line_bytes

    @property
    def data_directory(self) -> str:
        return default_data_directory()

    @property
    def own_agents_file(self) -> str | None:
        """The file with additional agents: the one of --agents-file, else the default one if it exists."""
        if self.agents_file is not None:
            return self.agents_file
        default = default_agents_file()
        return default if os.path.exists(default) else None


SETTINGS = tuple(item for item in vars(Settings).values() if isinstance(item, Setting))
"""All settings in the order of `--help`."""


def default_data_directory() -> str:
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "sandbox-agent")


def default_agents_file() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "sandbox-agent", "agents.toml")
