"""An ACP agent that answers `vendor/wait` only when the client cancels it; standard library only."""

import json
import sys
from typing import Any


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    method, params, request_id = request.get("method"), request.get("params", {}), request.get("id")
    if method == "initialize":
        send(id=request_id, result={"protocolVersion": 1, "agentCapabilities": {}})
    elif method == "session/new":
        send(id=request_id, result={"sessionId": "s1"})
    elif method == "vendor/wait":
        update = {"sessionUpdate": "session_info_update", "title": "waiting"}
        send(method="session/update", params={"sessionId": "s1", "update": update})
    elif method == "$/cancel_request":
        send(id=params["requestId"], error={"code": -32800, "message": "Request cancelled"})
    elif method and request_id is not None:
        send(id=request_id, error={"code": -32601, "message": "Method not found"})
