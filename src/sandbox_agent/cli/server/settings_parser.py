"""Reads the settings of the server from its command line and environment.

A flag wins over a variable, a variable over the default. The `server` command does not use click, which takes
longer to load than the server takes to start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.settings import SETTINGS, Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from sandbox_agent.settings import Setting


class HelpRequested(Exception):
    """`--help` is among the arguments."""


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Read the settings from the command line and the environment.

    Raises:
        SettingsError: a flag or variable has an invalid value.
        HelpRequested: `-h` or `--help` is among the arguments.
    """
    by_flag = {flag: item for item in SETTINGS for flag in item.flags}
    values: dict[str, Any] = {}
    for item in SETTINGS:
        _from_environment(item, environ, values)
    given: dict[str, Any] = {}
    rest = iter(_split_short_flags(arguments, by_flag))
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


def _split_short_flags(arguments: Sequence[str], by_flag: Mapping[str, Setting]) -> Iterator[str]:
    """The arguments with joined short flags split: `-p8000` and `-p=8000` to `-p 8000`, `-nC` to `-n -C`."""
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
                if not item.invalid_variable_is_default:
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
    if item.choices and text not in item.choices:
        raise SettingsError(f"{name} must be one of {', '.join(item.choices)}, not '{text}'")
    if not isinstance(item.default, int):
        return text
    if not text.isascii() or not text.isdigit() or int(text) < item.minimum:
        raise SettingsError(f"{name} must be a whole number of at least {item.minimum}, not '{text}'")
    return int(text)


def _checked(values: dict[str, Any], given: dict[str, Any]) -> Settings:
    """Check the port and choose the token: --token, then --no-token, then --token-file, then the variable."""
    if values.get("port", 0) > 65535:
        raise SettingsError(f"the port must be at most 65535, not {values['port']}")
    if "token" not in given:
        if given.get("no_token"):
            values["token"] = None
        elif values.get("token_file"):
            values["token"] = _read_token(values["token_file"])
    token = values.get("token")
    if token is not None:
        values["token"] = token.strip()
        if not values["token"]:
            raise SettingsError("the token is empty; use --no-token to serve without one")
    return Settings(**values)


def _read_token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the token file {path}: {error}") from error


def help_text() -> str:
    """The list of options of `sandbox-agent server --help`."""
    lines = []
    for item in SETTINGS:
        flags = ", ".join(item.flags)
        if not isinstance(item.default, bool):
            flags += " N" if isinstance(item.default, int) else " TEXT"
        default = item.default
        shown_default = f" [{default}]" if default not in (None, False, (), 0) else ""
        repeatable = " (repeatable)" if isinstance(default, tuple) else ""
        lines.append(f"  {flags}\n      {item.help}{repeatable}{shown_default}\n      {item.variables[0]}")
    return "\n".join(lines)
