"""Resume a session after its client, agent and server have ended; the store has everything needed."""

import tempfile
from pathlib import Path

from sandbox_agent import SandboxAgent

store = Path(tempfile.mkdtemp()) / "sessions.db"

with SandboxAgent.start(store=store) as client:
    session = client.sessions.create("mock", id="my-talk", model="mock-fast")
    session.prompt("echo remember the milk")

# The first server has stopped; this is another one.
with SandboxAgent.start(store=store) as client:
    session = client.sessions.resume("my-talk")
    print(
        "restored by:",
        session.restored.method,
        "- the agent knows the past:",
        session.restored.history_carried,
    )
    print(session.prompt("echo still here").text, "with", session.info.model)
    for event in client.sessions.events("my-talk", limit=1000):
        if event.type == "item.delta":
            print(event.sequence, event.data.delta)
