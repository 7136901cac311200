"""`python -m sandbox_agent` is the same as `sandbox-agent`."""

from __future__ import annotations

import sys

from sandbox_agent.cli.main import main

sys.exit(main())
