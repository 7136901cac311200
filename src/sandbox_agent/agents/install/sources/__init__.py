"""Where the packages of agents come from: npm, PyPI, the ACP registry and its archives; Node.js for npm."""
