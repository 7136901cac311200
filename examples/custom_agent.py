"""A custom agent in forty lines: it speaks ACP on stdin and stdout and answers in capital letters.

python examples/custom_agent.py           starts a server with this agent and sends it a prompt
python examples/custom_agent.py --serve   runs the agent
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def serve() -> None:
    sessions = 0
    for line in sys.stdin:
        request = json.loads(line)
        params = request.get("params", {})
        result: dict[str, Any] = {}
        if request.get("method") == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}}
        elif request.get("method") == "session/new":
            sessions += 1
            result = {"sessionId": f"session-{sessions}"}
        elif request.get("method") == "session/prompt":
            text = "".join(block.get("text", "") for block in params["prompt"]).upper() + "!"
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
            say({"method": "session/update", "params": {"sessionId": params["sessionId"], "update": update}})
            result = {"stopReason": "end_turn"}
        if "id" in request:
            say({"id": request["id"], "result": result})


def talk_to_it() -> None:
    from sandbox_agent import SandboxAgent, SpawnOptions

    command = {"id": "loud", "command": sys.executable, "args": [str(Path(__file__).resolve()), "--serve"]}
    with tempfile.TemporaryDirectory() as directory:
        agents_file = Path(directory, "agents.toml")
        agents_file.write_text(
            "[[agent]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in command.items())
        )
        with SandboxAgent.start(spawn=SpawnOptions(args=["--agents-file", str(agents_file)])) as client:
            print(client.sessions.create("loud").prompt("hello from my own agent").text)


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else talk_to_it()
