"""A vendor's program that misbehaves on purpose, as the file PRETEND_FAULT says, for the tests of faults.

    crash     says why on stderr and exits with 7
    hang      reads and never answers
    garbage   writes lines that are no JSON, then exits with 0
    midway    answers as its kind does, then dies by a signal in the middle of a turn

PRETEND_KIND is the way it talks: codex, claude, opencode or amp.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


def say(message: object) -> None:
    print(json.dumps(message), flush=True)


def hang() -> None:
    for _ in sys.stdin:
        pass
    time.sleep(600)


def codex_midway() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        results = {
            "initialize": {},
            "model/list": {"data": []},
            "thread/start": {
                "thread": {"id": "th-1", "cwd": "/", "preview": "", "updatedAt": 1, "turns": []},
                "model": "m",
            },
        }
        if request["method"] == "turn/start":
            say({"id": request["id"], "result": {"turn": {"id": "t-1", "items": [], "status": "inProgress"}}})
            delta = {"threadId": "th-1", "turnId": "t-1", "itemId": "i-1", "delta": "so far "}
            say({"method": "item/agentMessage/delta", "params": delta})
            say({"method": "from/the/future", "params": {"threadId": "th-1", "news": 1}})
            os.kill(os.getpid(), signal.SIGKILL)
        if "id" in request:
            say({"id": request["id"], "result": results[request["method"]]})


def claude_midway() -> None:
    session = "s-1"
    say({"type": "from_the_future", "session_id": session, "news": 1})
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so far "}}
    say({"type": "stream_event", "event": delta, "session_id": session, "parent_tool_use_id": None})
    os.kill(os.getpid(), signal.SIGKILL)


def amp_midway() -> None:
    if "--help" in sys.argv:
        print("Options:\n\n  -x, --execute [message]\n  --stream-json\n")
    elif "new" in sys.argv:
        print("T-00000000-0000-0000-0000-000000000000")
    else:
        block = {"type": "text", "text": "so far "}
        message = {"role": "assistant", "content": [block]}
        say({"type": "assistant", "message": message, "session_id": "s", "parent_tool_use_id": None})
        say({"type": "from_the_future", "news": 1})
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    kind, fault = os.environ["PRETEND_KIND"], Path(os.environ["PRETEND_FAULT"]).read_text()
    if fault == "crash":
        print("the disk is on fire", file=sys.stderr)
        sys.exit(7)
    elif fault == "hang":
        hang()
    elif fault == "garbage":
        print("\x00 this is no JSON", flush=True)
        print("[1, 2]", flush=True)
    else:
        {"codex": codex_midway, "claude": claude_midway, "amp": amp_midway}[kind]()


main()
