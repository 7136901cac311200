"""A chat in the terminal: streamed text, permissions and questions on the prompt, Ctrl-C cancels the turn.

python examples/chat_terminal.py            # the mock agent; try "tool", "permission", "question"
python examples/chat_terminal.py claude
"""

import sys

from sandbox_agent import (
    ItemDelta,
    ItemStarted,
    SandboxAgent,
    SandboxAgentError,
    Session,
    ToolCallPart,
    ask_terminal,
    ask_terminal_question,
)

agent = sys.argv[1] if len(sys.argv) > 1 else "mock"


def show(session: Session, prompt: str) -> None:
    """One turn, event by event."""
    with session.stream(prompt) as turn:
        for event in turn:
            if isinstance(event, ItemDelta):
                print(event.data.delta, end="", flush=True)
            elif isinstance(event, ItemStarted):
                for part in event.data.item.content:
                    if isinstance(part, ToolCallPart):
                        print(f"[{part.name}]", flush=True)
    print(f"\n({turn.result().stop_reason})")


with SandboxAgent.start(on_permission=ask_terminal, on_question=ask_terminal_question) as client:
    session = client.sessions.create(agent)
    print(f"Talking to {agent}. An empty line ends the chat.")
    while prompt := input("> ").strip():
        try:
            show(session, prompt)
        except KeyboardInterrupt:
            print("\n(stopped)")
        except SandboxAgentError as error:
            print(f"\n{error}")
