"""An MCP server on stdio with one tool, `order`, which asks the user for a size by a form."""

from __future__ import annotations

import json
import sys
from typing import Any

NO_ARGUMENTS = {"type": "object", "properties": {}}
TOOL = {"name": "order", "description": "Orders a shirt.", "inputSchema": NO_ARGUMENTS}
SIZE = {"type": "object", "properties": {"size": {"type": "string", "title": "Size"}}, "required": ["size"]}
FORM = {"message": "Which size?", "requestedSchema": SIZE}


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


ordering: Any = None
"""The id of the call that waits for the form."""
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number == "form":
        text = f"ordered: {json.dumps(message['result'])}"
        say(id=ordering, result={"content": [{"type": "text", "text": text}]})
    elif method == "initialize":
        info = {"name": "shop", "version": "1.0.0"}
        version = message["params"]["protocolVersion"]
        say(id=number, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        say(id=number, result={"tools": [TOOL]})
    elif method == "tools/call":
        ordering = number
        say(id="form", method="elicitation/create", params=FORM)
    elif number is not None:
        say(id=number, result={})
