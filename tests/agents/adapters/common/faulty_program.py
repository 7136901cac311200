"""A fake vendor's program with a fault, which the file FAULTY_BEHAVIOUR names.

    crash     writes a reason to stderr and exits with 7
    hang      reads and never answers
    garbage   writes lines that are not JSON, then exits with 0
    midway    opens a session, then is killed by a signal during a turn
    mute      opens a session, then writes nothing in its turn
    babble    opens a session, then writes lines that are not JSON in its turn, and exits with 0

FAULTY_KIND is the protocol: codex, claude, opencode or amp.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # this file runs as a program
from faulty_opencode import serve


def say(message: object) -> None:
    print(json.dumps(message), flush=True)


def hang() -> None:
    for _ in sys.stdin:
        pass
    time.sleep(600)


def babble() -> None:
    print("\x00 this is no JSON", flush=True)
    print("[1, 2]", flush=True)


def turn(fault: str, *lines: object) -> None:
    """The only turn of the program; it writes `lines` and kills itself."""
    if fault == "mute":
        hang()
    elif fault == "babble":
        babble()
        sys.exit(0)
    for line in lines:
        say(line)
    os.kill(os.getpid(), signal.SIGKILL)


def codex(fault: str) -> None:
    results = {
        "initialize": {},
        "model/list": {"data": []},
        "thread/start": {
            "thread": {"id": "th-1", "cwd": "/", "preview": "", "updatedAt": 1, "turns": []},
            "model": "m",
        },
    }
    delta = {"threadId": "th-1", "turnId": "t-1", "itemId": "i-1", "delta": "so far "}
    for line in sys.stdin:
        request = json.loads(line)
        if request["method"] == "turn/start":
            say({"id": request["id"], "result": {"turn": {"id": "t-1", "items": [], "status": "inProgress"}}})
            turn(
                fault,
                {"method": "item/agentMessage/delta", "params": delta},
                {"method": "from/the/future", "params": {"threadId": "th-1", "news": 1}},
            )
        if "id" in request:
            say({"id": request["id"], "result": results[request["method"]]})


def claude(fault: str) -> None:
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so far "}}
    turn(
        fault,
        {"type": "from_the_future", "session_id": "s-1", "news": 1},
        {"type": "stream_event", "event": text, "session_id": "s-1", "parent_tool_use_id": None},
    )


def amp(fault: str) -> None:
    if "--help" in sys.argv:
        print("Options:\n\n  -x, --execute [message]\n  --stream-json\n")
    elif "new" in sys.argv:
        print("T-00000000-0000-0000-0000-000000000000")
    else:
        message = {"role": "assistant", "content": [{"type": "text", "text": "so far "}]}
        turn(
            fault,
            {"type": "assistant", "message": message, "session_id": "s", "parent_tool_use_id": None},
            {"type": "from_the_future", "news": 1},
        )


def main() -> None:
    kind, fault = os.environ["FAULTY_KIND"], Path(os.environ["FAULTY_BEHAVIOUR"]).read_text()
    if fault == "crash":
        print("the disk is on fire", file=sys.stderr)
        sys.exit(7)
    elif fault == "hang":
        hang()
    elif fault == "garbage":
        babble()
    else:
        {"codex": codex, "claude": claude, "amp": amp, "opencode": serve}[kind](fault)


main()
