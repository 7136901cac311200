"""Items of the universal events: messages, tool calls and notices, from their start to their end."""
