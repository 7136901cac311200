"""Start the adapter of one agent on stdin and stdout; ends with its input, and its programs with it.

`--program FILE` names the vendor's program; without it the one on PATH is taken.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from acp import Agent

    from sandbox_agent.agents.adapters.common.native_agent import NativeAgent

NAMES = ("claude", "codex", "opencode", "amp")
_USAGE = f"usage: sandbox-agent adapter {{{'|'.join(NAMES)}}} [--program FILE]"
_HELP = f"""{_USAGE}

Speak ACP on stdin and stdout around a vendor's own program.

  --program FILE  the program; the one of that name on PATH if not given"""


def main(words: Sequence[str]) -> int:
    if words and words[-1] in ("-h", "--help"):
        print(_HELP)
        return 0
    if not words or words[0] not in NAMES or (words[1:] and (len(words) != 3 or words[1] != "--program")):
        print(_USAGE, file=sys.stderr)
        return 2
    name = words[0]
    program = words[2] if len(words) == 3 else shutil.which(name)
    if program is None:
        print(f"{name} is not on PATH: install it, or name it with --program", file=sys.stderr)
        return 1
    # stdout belongs to ACP; everything else is said on stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    asyncio.run(_serve(_maker(name)(program)))
    return 0


def _maker(name: str) -> Callable[[str], NativeAgent]:
    # Imported here: each adapter costs its own imports only.
    if name == "claude":
        from sandbox_agent.agents.adapters.claude.agent import Claude

        return Claude
    if name == "codex":
        from sandbox_agent.agents.adapters.codex.agent import Codex

        return Codex
    if name == "opencode":
        from sandbox_agent.agents.adapters.opencode.agent import OpenCode

        return OpenCode
    from sandbox_agent.agents.adapters.amp.agent import Amp

    return Amp


async def _serve(agent: NativeAgent) -> None:
    from acp import run_agent

    # Methods the adapter does not have are answered as unknown; the protocol class asks for all of them.
    serving = asyncio.ensure_future(run_agent(cast("Agent", agent), use_unstable_protocol=True))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving.cancel)
    try:
        with suppress(asyncio.CancelledError, ConnectionError):
            await serving
    finally:
        await agent.stop()
