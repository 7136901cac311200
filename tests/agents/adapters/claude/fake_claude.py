"""A fake `claude` that asks the user without a permission request, which current versions never do.

The prompt selects the behaviour:

    loose TOOL JSON   calls TOOL without a permission request and waits for its result on stdin
    late TOOL JSON    the same, but requests permission after the client got the question

It writes `--output-format stream-json` lines; its last message is the answer it got, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
LINE = {"session_id": "s-1", "parent_tool_use_id": None, "uuid": "u-1"}


def say(message: Json) -> None:
    print(json.dumps(LINE | message), flush=True)


def read(kind: str) -> Json:
    for line in sys.stdin:
        message: Json = json.loads(line)
        if message["type"] == kind:
            return message
    sys.exit("stdin is at its end")


def speak(*blocks: Json) -> None:
    message = {"id": "m-1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    say({"type": "assistant", "message": message | {"stop_reason": None}})


def ask_permission(tool: str, arguments: Json, wait_for: str) -> Json:
    # The client creates this file when it has received the question.
    while not Path(wait_for).exists():
        time.sleep(0.05)
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": arguments, "tool_use_id": "call-1"}
    say({"type": "control_request", "request_id": "r-1", "request": request})
    say({"type": "system", "subtype": "informational", "content": "permission was asked for"})
    response: Json = read("control_response")["response"]
    return response


def main() -> None:
    prompt = read("user")["message"]["content"][0]["text"]
    way, tool, raw = prompt.split(" ", 2)
    arguments = json.loads(raw)
    say(
        {"type": "system", "subtype": "init", "cwd": "/", "model": "m", "permissionMode": "plan", "tools": []}
    )
    speak({"type": "tool_use", "id": "call-1", "name": tool, "input": arguments})
    if way == "late":
        answer = ask_permission(tool, arguments, arguments["asked"])
    else:
        answer = read("user")["message"]
        say({"type": "user", "message": answer})
    speak({"type": "text", "text": json.dumps(answer)})
    usage = {"input_tokens": 1, "output_tokens": 1}
    say(
        {"type": "result", "subtype": "success", "is_error": False, "result": "", "stop_reason": "end_turn"}
        | {"usage": usage | {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}}
    )


main()
