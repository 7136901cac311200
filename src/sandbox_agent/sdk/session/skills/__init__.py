"""Skills of a session: fetched from their sources and put where the agent looks for them."""
