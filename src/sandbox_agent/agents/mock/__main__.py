"""`python -m sandbox_agent.agents.mock`: the mock agent on this process's stdin and stdout."""

from sandbox_agent.agents.mock.main import main

if __name__ == "__main__":
    raise SystemExit(main())
