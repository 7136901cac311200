"""The limits of an instance: how long its agent may be silent, and how long a line may be."""

from __future__ import annotations

# Silence allowed before the first line of an agent, and after it.
FIRST_LINE_S, SILENCE_S = 120.0, 1800.0


class InstanceLimits:
    def __init__(
        self,
        first_line_s: float = FIRST_LINE_S,
        silence_s: float = SILENCE_S,
        max_line_bytes: int = 64 * 1024 * 1024,
        adapter_messages: bool = True,
        client_log: bool = True,
    ) -> None:
        self.first_line_s = first_line_s
        self.silence_s = silence_s
        self.max_line_bytes = max_line_bytes
        self.adapter_messages = adapter_messages
        self.client_log = client_log
        # An agent that does not read may have two messages of the largest size in its queue.
        self.stdin_queue_bytes = 2 * max_line_bytes
