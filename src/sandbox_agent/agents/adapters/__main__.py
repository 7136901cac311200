"""`python -m sandbox_agent.agents.adapters NAME [--program FILE]`."""

import sys

from sandbox_agent.agents.adapters.main import main

sys.exit(main(sys.argv[1:]))
