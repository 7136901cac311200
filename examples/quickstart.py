"""Ten lines to an agent: start a server on this machine, talk to the mock agent, watch it work."""

from sandbox_agent import SandboxAgent, auto_approve

with SandboxAgent.start(on_permission=auto_approve) as client:
    session = client.sessions.create("mock", title="My first session")
    print(session.prompt("hello").text)

    with session.stream("markdown") as turn:
        for piece in turn.text_deltas:
            print(piece, end="", flush=True)

    print(turn.result().stop_reason, "after", session.info.event_count, "events")
