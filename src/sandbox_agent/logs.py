"""Logs: one line per life-cycle change on stderr, as text or JSON, without payloads and secrets.

A log call names the event and its fields: `logger.info("instance.started", pid=42)`. The `server` command
writes the lines itself (`set_up`). In a program that mounts the application they go to Python's `logging`
under the same names.

A log call never raises: without memory, descriptors or a usable clock the line says less, or is lost.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TextIO

    Fields = Mapping[str, Any]

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
_LEVELS = {"debug": DEBUG, "info": INFO, "warning": WARNING, "error": ERROR}
_NAMES = {number: name for name, number in _LEVELS.items()}

_writer: _Writer | None = None


class Log:
    """The log of one part of the program."""

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **fields: Any) -> None:
        self._write(DEBUG, event, fields, None)

    def info(self, event: str, **fields: Any) -> None:
        self._write(INFO, event, fields, None)

    def warning(self, event: str, **fields: Any) -> None:
        self._write(WARNING, event, fields, None)

    def error(self, event: str, **fields: Any) -> None:
        self._write(ERROR, event, fields, None)

    def exception(self, event: str, raised: BaseException | None = None, **fields: Any) -> None:
        """Log an error with `raised`, or with the exception that is being handled."""
        self._write(ERROR, event, fields, raised or sys.exc_info()[1])

    def _write(self, level: int, event: str, fields: Fields, raised: BaseException | None) -> None:
        if _writer is not None:
            _writer.write(level, event, fields, raised)
            return
        import logging  # only without `set_up`: it takes 10 ms to load

        logging.getLogger(self._name).log(level, event, extra={"fields": fields}, exc_info=raised)


def set_up(level: str, log_format: str) -> None:
    """Write the log to stderr, or to a file in SANDBOX_AGENT_LOG_DIR. Raises OSError.

    With SANDBOX_AGENT_LOG_STDOUT=1 the log goes to stderr although a directory is set.
    """
    global _writer
    directory = os.environ.get("SANDBOX_AGENT_LOG_DIR")
    stream = sys.stderr
    if directory and os.environ.get("SANDBOX_AGENT_LOG_STDOUT") != "1":
        os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(directory, time.strftime("log-%m-%d-%y", time.localtime()))
        # With mode 0600; plain `open` would apply the umask.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        stream = open(os.open(path, flags, 0o600), "w", encoding="utf-8")
    _writer = _Writer(stream, _LEVELS[level.lower()], _as_json if log_format == "json" else _as_text)


def forward(name: str) -> None:
    """Write what a library logs to `logging` under this name to the server's log, if it is set up."""
    if _writer is None:
        return
    write = _writer.write
    import logging  # loaded by the library

    class Forward(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raised = record.exc_info[1] if record.exc_info else None
            write(record.levelno, record.getMessage(), {}, raised)

    logging.getLogger(name).handlers[:] = [Forward()]


class _Writer:
    def __init__(self, stream: TextIO, level: int, format_line: Callable[[dict[str, Any]], str]) -> None:
        self._stream = stream
        self._level = level
        self._format_line = format_line

    def write(self, level: int, event: str, fields: Fields, raised: BaseException | None) -> None:
        if level < self._level:
            return
        try:
            facts = {
                "time": _moment(),
                "level": _NAMES.get(level, "critical"),
                "event": event,
                **fields,
                "exception": None if raised is None else _traceback(raised),
            }
            line = self._format_line({name: value for name, value in facts.items() if value is not None})
            self._stream.write(line + "\n")
            self._stream.flush()
        except Exception:  # noqa: S110 - what prevents this line may be what the caller reports with it
            pass


def _moment() -> str:
    try:
        now = time.time()
    except OverflowError:
        return "after-the-year-2262"  # beyond what Python can read from the clock
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    return f"{moment}.{int(now % 1 * 1000):03d}Z"


def _traceback(raised: BaseException) -> str:
    try:
        import traceback  # only for exceptions: it takes 10 ms to load

        return "".join(traceback.format_exception(raised)).rstrip("\n")
    except Exception:  # Out of descriptors, so that no module can be loaded, or out of memory.
        place, steps = raised.__traceback__, []
        while place is not None:
            code = place.tb_frame.f_code
            steps.append(f"{code.co_filename}:{place.tb_lineno} in {code.co_name}")
            place = place.tb_next
        return "\n".join([*steps, f"{type(raised).__name__}: {raised}"])


def _as_json(facts: dict[str, Any]) -> str:
    import msgspec  # only for --log-format json

    return msgspec.json.encode(facts, enc_hook=str).decode()


def _as_text(facts: dict[str, Any]) -> str:
    head = f"{facts.pop('time')} {facts.pop('level'):<7} {facts.pop('event')}"
    return " ".join([head, *(f"{name}={_quoted(value)}" for name, value in facts.items())])


def _quoted(value: Any) -> str:
    text = str(value)
    plain = text.isprintable() and not any(sign in text for sign in " \"'=")
    return text if plain and text else repr(text)
