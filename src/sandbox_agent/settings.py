"""Every setting of the server: its name, flag, environment variable, default and unit, in one place.

A flag wins over a variable, a variable over the default. `parse` is a small parser of our own because the
`server` command must start in milliseconds; the command line framework is for the other commands.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MIB = 1024 * 1024


class SettingsError(ValueError):
    """A flag or variable that cannot be used; the message is for the person who set it."""


class HelpRequested(Exception):
    """`--help` was among the flags."""


class Setting:
    """One setting: its names on the command line and in the environment, its default, its meaning."""

    def __init__(
        self, default: Any, flags: Sequence[str], help: str, env: Sequence[str], junk_is_default: bool
    ) -> None:
        self.name = ""  # known when the class below is complete
        self.default = default
        self.flags = tuple(flags)
        self.help = help
        self._more_variables = tuple(env)
        self.junk_is_default = junk_is_default

    @property
    def variables(self) -> tuple[str, ...]:
        return ("SANDBOX_AGENT_" + self.name.upper(), *self._more_variables)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


def _setting(
    default: Any, *flags: str, help: str, env: Sequence[str] = (), junk_is_default: bool = False
) -> Any:
    """Declares a setting. Its variable is SANDBOX_AGENT_<NAME>; `env` adds others."""
    return Setting(default, flags, help, env, junk_is_default)


class Settings:
    """The settings of a server. Not a dataclass: making one of this size takes longer than to parse flags."""

    # ---- where and for whom
    host: str = _setting("127.0.0.1", "-H", "--host", help="address to listen on")
    port: int = _setting(2468, "-p", "--port", help="port to listen on; 0 takes a free one")
    token: str | None = _setting(None, "-t", "--token", help="token that clients must send")
    token_file: str | None = _setting(None, "--token-file", help="file that holds the token")
    no_token: bool = _setting(False, "-n", "--no-token", help="serve without a token, knowingly")
    allow_host: tuple[str, ...] = _setting(
        (), "--allow-host", env=("SANDBOX_AGENT_ALLOWED_HOSTS",), help="further Host name to answer to"
    )
    cors_allow_origin: tuple[str, ...] = _setting(
        (), "-O", "--cors-allow-origin", help="site whose pages may use the server; '*' for all"
    )
    cors_allow_method: tuple[str, ...] = _setting(
        (), "-M", "--cors-allow-method", help="method those pages may use (default: all)"
    )
    cors_allow_header: tuple[str, ...] = _setting(
        (), "-A", "--cors-allow-header", help="header those pages may send (default: all)"
    )
    cors_allow_credentials: bool = _setting(
        False, "-C", "--cors-allow-credentials", help="let those pages send cookies and the like"
    )
    # ---- the ACP transport
    acp_request_timeout_ms: int = _setting(
        0,
        "--acp-request-timeout-ms",
        junk_is_default=True,
        help="silence after which a waiting request gives up (default: 120000 before an agent's first line, "
        "then 1800000)",
    )
    acp_heartbeat_ms: int = _setting(
        15_000, "--acp-heartbeat-ms", help="pause between heartbeats of a stream"
    )
    acp_early_header_ms: int = _setting(
        240_000, "--acp-early-header-ms", help="wait after which a response header is sent before its body"
    )
    acp_early_header_interval_ms: int = _setting(
        20_000, "--acp-early-header-interval-ms", help="pause between the blanks sent after that header"
    )
    replay_max_events: int = _setting(
        8192,
        "--replay-max-events",
        "--acp-ring-events",
        env=("SANDBOX_AGENT_ACP_RING_EVENTS",),
        help="events an instance keeps in memory",
    )
    replay_max_bytes: int = _setting(
        64 * MIB,
        "--replay-max-bytes",
        "--acp-ring-bytes",
        env=("SANDBOX_AGENT_ACP_RING_BYTES",),
        help="bytes of events an instance keeps in memory",
    )
    spill_max_bytes: int = _setting(
        1024 * MIB,
        "--spill-max-bytes",
        "--acp-spill-bytes",
        env=("SANDBOX_AGENT_ACP_SPILL_BYTES",),
        help="bytes of older events an instance keeps on disk; 0 keeps none",
    )
    acp_max_line_bytes: int = _setting(
        64 * MIB, "--acp-max-line-bytes", help="longest line an agent may write, in bytes"
    )
    no_adapter_messages: bool = _setting(
        False, "--no-adapter-messages", help="never publish _adapter/* messages on streams"
    )
    # ---- limits
    max_body_bytes: int = _setting(
        0, "--max-body-bytes", help="longest ACP message a client may post (default: as --acp-max-line-bytes)"
    )
    max_json_bytes: int = _setting(2 * MIB, "--max-json-bytes", help="longest JSON body of other endpoints")
    max_header_bytes: int = _setting(64 * 1024, "--max-header-bytes", help="longest request line and headers")
    max_instances: int = _setting(1000, "--max-instances", help="instances at a time")
    max_streams: int = _setting(1024, "--max-streams", help="event streams at a time")
    request_timeout_ms: int = _setting(
        30_000,
        "--request-timeout-ms",
        help="time a client has to send its headers, and each 64 KiB of a body",
    )
    keep_alive_ms: int = _setting(120_000, "--keep-alive-ms", help="time an idle connection is kept open")
    busy_poll_us: int = _setting(
        100,
        "--busy-poll-us",
        help="microseconds to stay awake for the next message where one follows the other; 0: sleep at once",
    )
    tar_max_entries: int = _setting(1_000_000, "--tar-max-entries", help="entries of an uploaded archive")
    tar_max_bytes: int = _setting(64 * 1024 * MIB, "--tar-max-bytes", help="unpacked bytes of an archive")
    fs_timeout_ms: int = _setting(
        60_000, "--fs-timeout-ms", help="time a file system operation may go without any progress"
    )
    # ---- agents and files
    fs_root: str | None = _setting(None, "--fs-root", help="directory that files and config may not leave")
    agents_file: str | None = _setting(None, "--agents-file", help="agents.toml with agents of your own")
    agent_user: str | None = _setting(None, "--agent-user", help="user that agents run as (needs root)")
    agent_memory_mb: int = _setting(
        0, "--agent-memory-mb", help="address space of each agent process; 0: no limit"
    )
    agent_processes: int = _setting(
        0, "--agent-processes", help="processes of the agent's user, who is not root; 0: no limit"
    )
    agent_cpu_s: int = _setting(0, "--agent-cpu-s", help="CPU seconds of each agent process; 0: no limit")
    agent_env_allow: tuple[str, ...] = _setting(
        (), "--agent-env-allow", help="variable agents inherit; once given, agents get only those named"
    )
    pass_credentials: bool = _setting(
        False, "--pass-credentials", help="hand keys found in files to agents that need them"
    )
    idle_timeout: int = _setting(
        0, "--idle-timeout", help="seconds after which an unused instance is closed; 0: never"
    )
    # ---- logs
    log_level: str = _setting("info", "--log-level", help="debug, info, warning or error")
    log_format: str = _setting("text", "--log-format", help="text or json")
    no_telemetry: bool = _setting(False, "--no-telemetry", help="accepted for compatibility; there is none")

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
        """The user's own agents: the file that was named, or the one in the usual place if there is one."""
        if self.agents_file is not None:
            return self.agents_file
        usual = default_agents_file()
        return usual if os.path.exists(usual) else None


SETTINGS = tuple(item for item in vars(Settings).values() if isinstance(item, Setting))
"""All settings in the order of `--help`."""


def default_data_directory() -> str:
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "sandbox-agent")


def default_agents_file() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "sandbox-agent", "agents.toml")


# Smaller numbers than these make no server.
_LEAST = {
    "port": 0,
    "acp_request_timeout_ms": 0,
    "spill_max_bytes": 0,
    "max_body_bytes": 0,
    "idle_timeout": 0,
    "busy_poll_us": 0,
}
_LEAST |= {"agent_memory_mb": 0, "agent_processes": 0, "agent_cpu_s": 0}
_CHOICES = {"log_level": ("debug", "info", "warning", "error"), "log_format": ("text", "json")}


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Settings from flags and environment.

    Raises:
        SettingsError: something cannot be used; the message names it.
        HelpRequested: `-h` or `--help` is among the flags.
    """
    by_flag = {flag: item for item in SETTINGS for flag in item.flags}
    values: dict[str, Any] = {}
    for item in SETTINGS:
        _from_environment(item, environ, values)
    given: dict[str, Any] = {}
    rest = iter(_apart(arguments, by_flag))
    for argument in rest:
        if argument in ("-h", "--help"):
            raise HelpRequested
        flag, equals, inline = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if flag not in by_flag:
            raise SettingsError(f"unknown argument '{argument}'; see 'sandbox-agent server --help'")
        item = by_flag[flag]
        if isinstance(item.default, bool):
            given[item.name] = _boolean(inline, flag) if equals else True
            continue
        text = inline if equals else _next(rest, flag)
        if isinstance(item.default, tuple):
            given[item.name] = (*given.get(item.name, ()), text)
        else:
            given[item.name] = _convert(item, text, flag)
    return _checked(values | given, given)


def _apart(arguments: Sequence[str], by_flag: Mapping[str, Setting]) -> Iterator[str]:
    """The arguments with short flags taken apart: `-p8000` and `-p=8000` are `-p 8000`, `-nC` is `-n -C`."""
    is_value = False
    for argument in arguments:
        item = None if is_value else by_flag.get(argument[:2])
        while item is not None and len(argument) > 2 and not argument.startswith("--"):
            yield argument[:2]
            if not isinstance(item.default, bool):
                argument, is_value = argument[2:].removeprefix("="), True
                break
            argument = "-" + argument[2:]
            item = by_flag.get(argument[:2])
        yield argument
        named = None if is_value else by_flag.get(argument)
        is_value = named is not None and not isinstance(named.default, bool)


def _from_environment(item: Setting, environ: Mapping[str, str], values: dict[str, Any]) -> None:
    for variable in item.variables:
        text = environ.get(variable)
        if text is None or (text == "" and not isinstance(item.default, str | None)):
            continue
        if isinstance(item.default, bool):
            values[item.name] = _boolean(text, variable)
        elif isinstance(item.default, tuple):
            values[item.name] = tuple(part.strip() for part in text.split(",") if part.strip())
        else:
            try:
                values[item.name] = _convert(item, text, variable)
            except SettingsError:
                if not item.junk_is_default:
                    raise
        return


def _next(rest: Iterator[str], flag: str) -> str:
    try:
        return next(rest)
    except StopIteration:
        raise SettingsError(f"{flag} needs a value") from None


def _boolean(text: str, name: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("", "0", "false", "no", "off"):
        return False
    raise SettingsError(f"{name} must be true or false, not '{text}'")


def _convert(item: Setting, text: str, name: str) -> Any:
    if item.name in _CHOICES and text not in _CHOICES[item.name]:
        raise SettingsError(f"{name} must be one of {', '.join(_CHOICES[item.name])}, not '{text}'")
    if not isinstance(item.default, int):
        return text
    least = _LEAST.get(item.name, 1)
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise SettingsError(f"{name} must be a whole number of at least {least}, not '{text}'")
    return int(text)


def _checked(values: dict[str, Any], given: dict[str, Any]) -> Settings:
    """Settle the token: --token, then --no-token, then --token-file, then the environment."""
    if values.get("port", 0) > 65535:
        raise SettingsError(f"there is no port {values['port']}")
    if "token" not in given:
        if given.get("no_token"):
            values["token"] = None
        elif values.get("token_file"):
            values["token"] = _read_token(values["token_file"])
    token = values.get("token")
    if token is not None and not token.strip():
        raise SettingsError("the token is empty; use --no-token to serve without one")
    return Settings(**values)


def _read_token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the token file {path}: {error}") from error


def help_text() -> str:
    """The options part of `sandbox-agent server --help`."""
    lines = []
    for item in SETTINGS:
        flags = ", ".join(item.flags)
        if not isinstance(item.default, bool):
            flags += " N" if isinstance(item.default, int) else " TEXT"
        default = item.default
        shown = f" [{default}]" if default not in (None, False, (), 0) else ""
        again = " (repeatable)" if isinstance(default, tuple) else ""
        lines.append(f"  {flags}\n      {item.help}{again}{shown}\n      {item.variables[0]}")
    return "\n".join(lines)
