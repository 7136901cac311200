"""Scripts that misbehave on purpose: what a bridge and a client must survive.

Words that end or block the process act only if nothing but their own arguments follows them, so that a
sentence which happens to begin with one ("kill all bugs") is just echoed.
"""

from __future__ import annotations

import os
import sys

from sandbox_agent.agents.mock import updates
from sandbox_agent.agents.mock.jsonrpc import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RpcError,
    encode_message,
)
from sandbox_agent.agents.mock.scripts.output import say
from sandbox_agent.agents.mock.scripts.steps import (
    Act,
    EndSession,
    ExitAfterAnswer,
    Notify,
    Pause,
    Raw,
    StopReading,
    Update,
)

TYPE_CHECKING = False  # as in typing, which is too slow to import here
if TYPE_CHECKING:
    from sandbox_agent.agents.mock.prompt import Prompt
    from sandbox_agent.agents.mock.scripts.steps import Script

FLOOD_BATCH = 64
CHILD_SLEEP_S = 600
STDERR_LINE = b"x" * 79 + b"\n"
FAILURES = {
    INTERNAL_ERROR: "Internal error",
    AUTH_REQUIRED: "Authentication required",
    INVALID_PARAMS: "Invalid params",
}


def _numbers(rest: str, most: int) -> list[int] | None:
    words = rest.split()
    if len(words) > most or not all(word.isdecimal() and word.isascii() for word in words):
        return None
    return [int(word) for word in words]


def error(prompt: Prompt, _rest: str) -> Script:
    call_id = updates.new_tool_call_id()
    yield Update(updates.tool_call(call_id, "fetch", "Fetch a page", "fetch", rawInput={"page": "missing"}))
    yield Update(
        updates.tool_update(
            call_id, "failed", content=[updates.tool_text("404 Not Found")], rawOutput={"status": 404}
        )
    )
    where = {"sessionId": prompt.session.id}
    yield Notify(
        "_sandboxagent/error",
        {**where, "message": "Something went wrong", "code": "mock_error", "details": {"mock": True}},
    )
    yield Notify(
        "_sandboxagent/agent/unparsed",
        {**where, "error": "not JSON", "location": "mock", "raw_hash": None},
    )
    yield say("This was an error, but only a scripted one.")
    return None


def end(prompt: Prompt, rest: str) -> Script | None:
    if rest:
        return None

    def run() -> Script:
        yield say("Goodbye.")
        yield Notify(
            "_sandboxagent/session/ended",
            {"sessionId": prompt.session.id, "reason": "completed", "terminated_by": "agent"},
        )
        yield EndSession()
        return None

    return run()


def fail(_prompt: Prompt, rest: str) -> Script | None:
    if rest and not rest.removeprefix("-").isdecimal():
        return None
    code = int(rest) if rest else INTERNAL_ERROR

    def run() -> Script:
        yield say("I shall fail now.")
        raise RpcError(code, FAILURES.get(code, "The mock agent failed"), {"reason": "asked to fail"})

    return run()


def refuse(_prompt: Prompt, _rest: str) -> Script:
    yield say("I would rather not.")
    return "refusal"


def max_tokens(_prompt: Prompt, _rest: str) -> Script:
    yield say("There was so much more to s")
    return "max_tokens"


def max_turn_requests(_prompt: Prompt, _rest: str) -> Script:
    yield say("I have asked the model often enough.")
    return "max_turn_requests"


def flood(prompt: Prompt, rest: str) -> Script | None:
    numbers = _numbers(rest, 2)
    if not numbers:
        return None
    count, padding = numbers[0], numbers[1] if len(numbers) == 2 else 0

    def run() -> Script:
        # Encoding each message afresh would make this process, not its reader, the bottleneck.
        mark = "\x00"
        update = updates.message_chunk(updates.text_block(mark + "." * padding + "\n"), updates.new_uuid())
        params = {"sessionId": prompt.session.id, "update": update}
        line = encode_message({"jsonrpc": "2.0", "method": "session/update", "params": params})
        before, after = line.split(b"\\u0000")
        for start in range(1, count + 1, FLOOD_BATCH):
            batch = range(start, min(start + FLOOD_BATCH, count + 1))
            yield Raw(b"".join([b"%b%d%b" % (before, number, after) for number in batch]))
        return None

    return run()


def big(_prompt: Prompt, rest: str) -> Script | None:
    numbers = _numbers(rest, 1)
    if not numbers:
        return None
    size = numbers[0]

    def run() -> Script:
        yield Update(updates.message("x" * size), keep=False)
        return None

    return run()


def garbage(_prompt: Prompt, _rest: str) -> Script:
    yield Raw(b"This line is not JSON.\n")
    yield Raw(b"\xff\xfe\x80 is not UTF-8\n")
    yield Raw(b'{"jsonrpc":"2.0","method":\n')
    yield say("I have printed three lines that are no messages.")
    return None


def stderr(_prompt: Prompt, rest: str) -> Script | None:
    numbers = _numbers(rest, 1)
    if numbers is None:
        return None
    size = numbers[0] if numbers else len(STDERR_LINE)

    def complain() -> None:
        remaining = size
        while remaining > 0:
            remaining -= os.write(2, STDERR_LINE[-remaining:])

    def run() -> Script:
        yield Act(complain)
        yield say(f"I have written {size} bytes to stderr.")
        return None

    return run()


def crash(_prompt: Prompt, rest: str) -> Script | None:
    numbers = _numbers(rest, 1)
    if numbers is None or (numbers and numbers[0] > 255):
        return None
    code = numbers[0] if numbers else 1

    def fall() -> None:
        os.write(2, b"mock agent: crashing with code %d, as asked\n" % code)
        os._exit(code)

    def run() -> Script:
        yield say("I shall crash now.")
        yield Act(fall)
        return None

    return run()


def kill(_prompt: Prompt, rest: str) -> Script | None:
    import signal  # only this word and `stubborn` need it

    name = rest.upper().removeprefix("SIG") or "KILL"
    number = getattr(signal, "SIG" + name, None)
    if not isinstance(number, signal.Signals):
        return None

    def run() -> Script:
        yield say(f"I shall send myself {number.name}.")
        yield Act(lambda: os.kill(os.getpid(), number))
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


def deaf(_prompt: Prompt, rest: str) -> Script | None:
    if rest:
        return None

    def run() -> Script:
        yield say("I do not read my input any more.")
        yield StopReading()
        return None

    return run()


def stubborn(_prompt: Prompt, rest: str) -> Script | None:
    if rest:
        return None

    def ignore_signals() -> None:
        import signal  # only this word and `kill` need it

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def run() -> Script:
        yield Act(ignore_signals)
        yield say("I ignore SIGTERM, SIGINT, SIGHUP and the end of my input.")
        yield StopReading()
        return None

    return run()


def leave(_prompt: Prompt, rest: str) -> Script | None:
    if rest:
        return None

    def run() -> Script:
        yield say("I leave.")
        yield ExitAfterAnswer(0)
        return None

    return run()


def child(_prompt: Prompt, rest: str) -> Script | None:
    numbers = _numbers(rest, 1)
    if numbers is None:
        return None
    seconds = numbers[0] if numbers else CHILD_SLEEP_S

    def run() -> Script:
        nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        nap = f"import time; time.sleep({seconds})"
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", nap],
            os.environ,
            file_actions=nowhere,
            setsid=True,
        )
        yield say(f"I have started process {pid} in a session of its own; it sleeps for {seconds} s.")
        return None

    return run()
