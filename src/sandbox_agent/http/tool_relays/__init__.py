"""Tools of a client, called by an agent: the agent's call waits here until the client has answered it."""
