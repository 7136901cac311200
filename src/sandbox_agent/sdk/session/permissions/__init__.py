"""Permission requests and questions of the agent, and the callbacks that answer them."""
