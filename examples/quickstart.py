"""Start a server on this machine, send the mock agent a prompt, and stream an answer."""

from sandbox_agent import SandboxAgent, auto_approve

with SandboxAgent.start(on_permission=auto_approve) as client:
    session = client.sessions.create("mock", title="My first session")
    print(session.prompt("hello").text)

    with session.stream("markdown") as turn:
        for piece in turn.text_deltas:
            print(piece, end="", flush=True)

    print(turn.result().stop_reason, "after", session.info.event_count, "events")
