"""The program of `sandbox_agent.testing.ScriptedAgent`: an ACP agent that reads its answers from a file.

The file maps prompts to lists of text chunks and is read for every prompt, so a test may change it at any
time. Only the standard library is used, so that it starts fast.
"""

import json
import sys
from typing import Any

CAPABILITIES = {"loadSession": False, "sessionCapabilities": {"resume": {}, "close": {}}}


def send(**message: Any) -> None:
    """Write one JSON-RPC message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def prompt(request_id: Any, params: dict[str, Any], script_path: str) -> None:
    """Answer a prompt from the table, or echo it."""
    text = "".join(block.get("text", "") for block in params["prompt"])
    with open(script_path, encoding="utf-8") as file:
        chunks = json.load(file).get(text, [text])
    for chunk in chunks:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": chunk}}
        send(method="session/update", params={"sessionId": params["sessionId"], "update": update})
    send(id=request_id, result={"stopReason": "end_turn"})


def main(script_path: str) -> None:
    """Serve stdin until it ends."""
    sessions = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if method == "session/prompt":
            prompt(request_id, message["params"], script_path)
        elif method == "initialize":
            send(id=request_id, result={"protocolVersion": 1, "agentCapabilities": CAPABILITIES})
        elif method == "session/new":
            sessions += 1
            send(id=request_id, result={"sessionId": f"scripted-{sessions}"})
        elif method in ("session/resume", "session/close"):
            send(id=request_id, result={})
        elif method is not None and request_id is not None:
            send(id=request_id, error={"code": -32601, "message": f"Method not found: {method}"})


if __name__ == "__main__":
    main(sys.argv[1])
