"""Run one adapter on stdin and stdout; it ends with its input, and its programs with it.

`--program FILE` names the vendor's program; the default is the one on PATH.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from acp import Agent

    from sandbox_agent.agents.adapters.common.native_agent import NativeAgent

_CLASSES = {"claude": "ClaudeAgent", "codex": "CodexAgent", "opencode": "OpenCodeAgent", "amp": "AmpAgent"}
ADAPTER_NAMES = tuple(_CLASSES)
_USAGE = f"usage: sandbox-agent adapter {{{'|'.join(ADAPTER_NAMES)}}} [--program FILE]"
_HELP = f"""{_USAGE}

Speak ACP on stdin and stdout around a vendor's own program.

  --program FILE  the program; by default the one of that name on PATH"""


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments[-1] in ("-h", "--help"):
        print(_HELP)
        return 0
    name, *options = arguments or [""]
    if name not in ADAPTER_NAMES or (options and (len(options) != 2 or options[0] != "--program")):
        print(_USAGE, file=sys.stderr)
        return 2
    program = options[1] if options else shutil.which(name)
    if program is None:
        print(f"{name} is not on PATH: install it, or name it with --program", file=sys.stderr)
        return 1
    # stdout belongs to ACP; log lines go to stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    asyncio.run(_serve(_create(name, program)))
    return 0


def _create(name: str, program: str) -> NativeAgent:
    # Imported by name: an adapter loads ACP and its own modules (0.3 s), not those of the other adapters.
    module = importlib.import_module(f"sandbox_agent.agents.adapters.{name}.{name}_agent")
    return cast("NativeAgent", getattr(module, _CLASSES[name])(program))


async def _serve(agent: NativeAgent) -> None:
    from acp import run_agent

    # acp answers methods that the adapter does not have as unknown; its protocol class demands all of them.
    serving = asyncio.ensure_future(run_agent(cast("Agent", agent), use_unstable_protocol=True))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving.cancel)
    try:
        with suppress(asyncio.CancelledError, ConnectionError):
            await serving
    finally:
        await agent.stop()
