"""An ACP agent that answers its prompts with the texts of its arguments, one after the other.

The last one is repeated. Every answer reports 10 input and 5 output tokens, and costs 0.25 USD more. Needs
only the standard library.
"""

import json
import sys
from typing import Any

answers = sys.argv[1:]
answered = 0


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(session_id: str, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session_id, "update": fields})


for line in sys.stdin:
    request = json.loads(line)
    method, params, result = request.get("method"), request.get("params", {}), {}
    if method == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif method == "session/new":
        result = {"sessionId": "s1"}
    elif method == "session/prompt":
        text = answers[min(answered, len(answers) - 1)]
        answered += 1
        content = {"type": "text", "text": text}
        update("s1", sessionUpdate="agent_message_chunk", content=content)
        cost = {"amount": 0.25 * answered, "currency": "USD"}
        update("s1", sessionUpdate="usage_update", used=15 * answered, size=1000, cost=cost)
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        reason = "refusal" if text == "no" else "end_turn"
        result = {"stopReason": reason, "usage": usage}
    if "id" in request and method:
        send(id=request["id"], result=result)
