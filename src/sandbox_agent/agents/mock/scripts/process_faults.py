"""Scripts that end, block or multiply the process: what a bridge must survive."""

from __future__ import annotations

import os
import signal
import sys

from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.arguments import numbers, without_arguments
from sandbox_agent.agents.mock.scripts.script_steps import (
    ExitAfterAnswer,
    Pause,
    RunAction,
    Script,
    StopReading,
)
from sandbox_agent.agents.mock.scripts.update_scripts import say

CHILD_SLEEP_S = 600


def crash(_prompt: Prompt, rest: str) -> Script | None:
    given = numbers(rest, 1)
    if given is None or (given and given[0] > 255):
        return None
    code = given[0] if given else 1

    def exit_now() -> None:
        os.write(2, b"mock agent: crashing with code %d, as asked\n" % code)
        os._exit(code)

    def run() -> Script:
        yield say("I shall crash now.")
        yield RunAction(exit_now)
        return None

    return run()


def kill(_prompt: Prompt, rest: str) -> Script | None:
    name = rest.upper().removeprefix("SIG") or "KILL"
    number = getattr(signal, "SIG" + name, None)
    if not isinstance(number, signal.Signals):
        return None

    def run() -> Script:
        yield say(f"I shall send myself {number.name}.")
        yield RunAction(lambda: os.kill(os.getpid(), number))
        yield say(f"I have survived {number.name}.")
        return None

    return run()


def hang(_prompt: Prompt, rest: str) -> Script | None:
    if rest not in ("", "hard"):
        return None

    def run() -> Script:
        yield Pause(None, stubborn=rest == "hard")
        return None

    return run()


@without_arguments
def deaf(_prompt: Prompt) -> Script:
    yield say("I do not read my input any more.")
    yield StopReading()
    return None


@without_arguments
def stubborn(_prompt: Prompt) -> Script:
    yield RunAction(_ignore_signals)
    yield say("I ignore SIGTERM, SIGINT, SIGHUP and the end of my input.")
    yield StopReading()
    return None


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


@without_arguments
def leave(_prompt: Prompt) -> Script:
    yield say("I leave.")
    yield ExitAfterAnswer(0)
    return None


def child(_prompt: Prompt, rest: str) -> Script | None:
    given = numbers(rest, 1)
    if given is None:
        return None
    seconds = given[0] if given else CHILD_SLEEP_S

    def run() -> Script:
        null_files = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        code = f"import time; time.sleep({seconds})"
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", code],
            os.environ,
            file_actions=null_files,
            setsid=True,
        )
        yield say(f"I have started process {pid} in a session of its own; it sleeps for {seconds} s.")
        return None

    return run()
