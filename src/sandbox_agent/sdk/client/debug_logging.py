"""`SANDBOX_AGENT_LOG=debug` logs what the client does; by default the library logs nothing."""

from __future__ import annotations

import logging
import os

_done = False


def set_up_logging() -> None:
    """Apply `SANDBOX_AGENT_LOG`, once; existing handlers of the program are kept."""
    global _done
    wanted = os.environ.get("SANDBOX_AGENT_LOG")
    if _done or not wanted:
        return
    _done = True
    logger = logging.getLogger("sandbox_agent")
    level = logging.getLevelName(wanted.upper())
    logger.setLevel(level if isinstance(level, int) else logging.INFO)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
