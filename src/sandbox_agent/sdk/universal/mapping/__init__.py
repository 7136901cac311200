"""How ACP messages become universal events, one module per kind of message."""
