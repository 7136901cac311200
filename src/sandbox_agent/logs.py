"""Logs: one line per life-cycle change on stderr, as text or JSON; never a payload, never a secret.

Log calls name the event and pass its facts: `logger.info("instance.started", extra={"fields": {...}})`.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any

ROOT = "sandbox_agent"


def set_up(level: str, form: str) -> None:
    """Send the log to stderr, or to a file in SANDBOX_AGENT_LOG_DIR."""
    directory = os.environ.get("SANDBOX_AGENT_LOG_DIR")
    handler: logging.Handler
    if directory and os.environ.get("SANDBOX_AGENT_LOG_STDOUT") != "1":
        os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(directory, time.strftime("log-%m-%d-%y", time.localtime()))
        # Made by us first: the handler would leave its mode to the umask.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        handler = logging.FileHandler(path, encoding="utf-8")
    else:
        handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(level.upper())
    logging.getLogger("asyncio").handlers[:] = [handler]


class _Line(logging.Formatter):
    def facts(self, record: logging.LogRecord) -> dict[str, Any]:
        moment = time.gmtime(record.created)
        facts = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return {name: value for name, value in facts.items() if value is not None}


class _Json(_Line):
    def format(self, record: logging.LogRecord) -> str:
        import msgspec

        return msgspec.json.encode(self.facts(record), enc_hook=str).decode()


class _Text(_Line):
    def format(self, record: logging.LogRecord) -> str:
        facts = self.facts(record)
        head = f"{facts.pop('time')} {facts.pop('level'):<7} {facts.pop('event')}"
        return " ".join([head, *(f"{name}={_quoted(value)}" for name, value in facts.items())])


def _quoted(value: Any) -> str:
    text = str(value)
    plain = text.isprintable() and not any(mark in text for mark in " \"'=")
    return text if plain and text else repr(text)
