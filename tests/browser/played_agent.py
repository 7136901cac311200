"""An ACP agent that plays scenes: the prompt `play NAME` sends what NAME.json of its directory says.

A scene is a list of steps: {"update": {...}} sends a session/update, {"ask": {"method", "params"}} sends a
request and says its answer, {"pause": seconds} waits, {"error": {...}} fails the turn. Any other prompt is
answered with the kinds of its blocks. With `--needs VARIABLE` a prompt is refused as long as the variable is
not set and no login was made. With `--logins ID,ID` the agent opens no session before a login; only the last
of these methods works.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
NEEDS = sys.argv[2] if sys.argv[1:2] == ["--needs"] else ""
LOGIN = {
    "id": "browser-login",
    "name": "Log in with a browser",
    "description": "Opens the page of the vendor",
}
LOGINS = sys.argv[2].split(",") if sys.argv[1:2] == ["--logins"] else []
LOGIN_REQUIRED = {"error": {"code": -32000, "message": "Authentication required"}}
CAPABILITIES = {"loadSession": False, "promptCapabilities": {"image": True}}


class Cancelled(Exception):
    pass


class Player:
    def __init__(self) -> None:
        self.directory = Path()
        self.asked = 0
        self.logged_in = not LOGINS and (not NEEDS or bool(os.environ.get(NEEDS)))

    def send(self, message: Message) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, fields: Message) -> None:
        self.send({"method": "session/update", "params": {"sessionId": "s", "update": fields}})

    def say(self, text: str) -> None:
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def ask(self, request: Message) -> Any:
        self.asked += 1
        params = {"sessionId": "s", **request["params"]}
        self.send({"id": self.asked, "method": request["method"], "params": params})
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("method") == "session/cancel":
                raise Cancelled
            if message.get("id") == self.asked and "method" not in message:
                return message.get("result", message.get("error"))
        raise SystemExit

    def play(self, name: str) -> Message:
        for step in json.loads((self.directory / f"{name}.json").read_text()):
            if "update" in step:
                self.update(step["update"])
            elif "ask" in step:
                self.say("answer: " + json.dumps(self.ask(step["ask"]), sort_keys=True) + "\n\n")
            elif "pause" in step:
                time.sleep(step["pause"])
            else:
                return {"error": step["error"]}
        return {"result": {"stopReason": "end_turn"}}

    def prompt(self, blocks: list[Message]) -> Message:
        if not self.logged_in:
            return LOGIN_REQUIRED
        command, _, name = blocks[0].get("text", "").partition(" ")
        if command == "play":
            try:
                return self.play(name)
            except Cancelled:
                return {"result": {"stopReason": "cancelled"}}
        self.say("received " + ", ".join(f"{block['type']} {block.get('mimeType', '')}" for block in blocks))
        return {"result": {"stopReason": "end_turn"}}

    def answer(self, method: str, params: Message) -> Message:
        if method == "initialize":
            logins = [LOGIN] if NEEDS else [{"id": one, "name": f"Log in with {one}"} for one in LOGINS]
            return {
                "result": {"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "authMethods": logins}
            }
        if method == "session/new":
            if LOGINS and not self.logged_in:
                return LOGIN_REQUIRED
            self.directory = Path(params["cwd"])
            return {"result": {"sessionId": "s"}}
        if method == "authenticate":
            if LOGINS and params["methodId"] != LOGINS[-1]:
                return {"error": {"code": -32603, "message": "This login does not work"}}
            self.logged_in = True
            return {"result": {}}
        if method == "session/prompt":
            return self.prompt(params["prompt"])
        return {"error": {"code": -32601, "message": "unknown method"}}


def main() -> None:
    player = Player()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            player.send({"id": message["id"], **player.answer(message["method"], message["params"])})


if __name__ == "__main__":
    main()
