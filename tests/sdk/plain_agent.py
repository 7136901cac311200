"""An ACP agent that can do little: no resume, no load, no config options, only modes.

It answers a prompt with what it was given, so a test sees what reached it. `ask` wants a permission and,
like several real agents, goes on waiting for the answer after a cancel; with a block `withdraw` before it
the request is taken back at once. With `--login` it refuses a
session until `authenticate` was called. With `--models` it has models in `models`, as Gemini and Hermes have.
With `--repeats=resume` or `--repeats=load` it can do that, and sends the history again afterwards, as Hermes
and Gemini do. Needs only the standard library.
"""

import json
import sys
import time
from typing import Any

LOGIN_NEEDED = "--login" in sys.argv
HAS_MODELS = "--models" in sys.argv
REPEATS = next((word.partition("=")[2] for word in sys.argv if word.startswith("--repeats=")), None)
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
sessions: list[str] = []
open_prompt: dict[str, Any] = {}
logged_in = False


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(session_id: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session_id, "update": update})


def prompt(request_id: Any, params: dict[str, Any]) -> None:
    session_id, blocks = params["sessionId"], params["prompt"]
    words = " ".join(block.get("text", block["type"]) for block in blocks)
    if blocks[-1].get("text") == "ask":
        open_prompt.update(id=request_id, session=session_id)
        call = {"toolCallId": "t1", "title": "Do it", "kind": "execute"}
        body = {"sessionId": session_id, "toolCall": call, "options": OPTIONS}
        send(id="ask-1", method="session/request_permission", params=body)
        if words.endswith("withdraw ask"):
            send(method="$/cancel_request", params={"requestId": "ask-1"})
    elif blocks[-1].get("text") == "strange":
        open_prompt.update(id=request_id, session=session_id)
        send(id="strange-1", method="craft/drainMidTurnQueue", params={"sessionId": session_id})
    elif blocks[-1].get("text") == "busy":
        # It reads nothing meanwhile, so it does not notice a cancel.
        for _ in range(20):
            say(session_id, "still busy\n")
            time.sleep(0.1)
        send(id=request_id, result={"stopReason": "end_turn"})
    elif blocks[-1].get("text") == "blocks":
        say(session_id, json.dumps(blocks))
        send(id=request_id, result={"stopReason": "end_turn"})
    else:
        say(session_id, words)
        send(id=request_id, result={"stopReason": "end_turn"})


def answered(message: dict[str, Any]) -> None:
    if not open_prompt:
        return
    say(open_prompt["session"], json.dumps(message.get("result") or message.get("error")))
    cancelled = open_prompt.get("cancelled", False)
    send(id=open_prompt["id"], result={"stopReason": "cancelled" if cancelled else "end_turn"})
    open_prompt.clear()


def new_session(request_id: Any) -> None:
    if LOGIN_NEEDED and not logged_in:
        send(id=request_id, error={"code": -32000, "message": "Authentication required"})
        return
    sessions.append(f"plain-{len(sessions)}")
    modes = {
        "currentModeId": "safe",
        "availableModes": [{"id": "safe", "name": "Safe"}, {"id": "wild", "name": "Wild"}],
    }
    names = ("small", "large") if HAS_MODELS else ()
    offered = [{"modelId": name, "name": name.title()} for name in names]
    models = {"models": {"currentModelId": "small", "availableModels": offered}} if HAS_MODELS else {}
    send(id=request_id, result={"sessionId": sessions[-1], "modes": modes, **models})


def resume(request_id: Any, session_id: str) -> None:
    send(id=request_id, result={})
    for kind, text in (("user_message_chunk", "old question"), ("agent_message_chunk", "old answer")):
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        send(method="session/update", params={"sessionId": session_id, "update": update})


for line in sys.stdin:
    message = json.loads(line)
    method, request_id = message.get("method"), message.get("id")
    if method == "initialize":
        methods = [{"id": "api-key", "name": "Key"}] if LOGIN_NEEDED else []
        able = {"resume": {"sessionCapabilities": {"resume": {}}}, "load": {"loadSession": True}}.get(
            REPEATS, {}
        )
        send(id=request_id, result={"protocolVersion": 1, "agentCapabilities": able, "authMethods": methods})
    elif method == "authenticate":
        logged_in = True
        send(id=request_id, result={})
    elif method == "session/new":
        new_session(request_id)
    elif REPEATS and method == f"session/{REPEATS}":
        resume(request_id, message["params"]["sessionId"])
    elif method == "session/set_model" and HAS_MODELS:
        send(id=request_id, result={})
        say(message["params"]["sessionId"], f"model {message['params']['modelId']}")
    elif method == "session/set_mode":
        send(id=request_id, result={})
    elif method == "session/prompt":
        prompt(request_id, message["params"])
    elif method == "session/cancel":
        open_prompt["cancelled"] = True
    elif method is None:
        answered(message)
    elif request_id is not None:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})
