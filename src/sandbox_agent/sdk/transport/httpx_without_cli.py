"""Import `httpx` without its command line, before any other module of the SDK imports it.

`httpx` imports its command line where click, rich and pygments are installed: 6 MB, and a fifth of the time
that `import sandbox_agent.sdk.api` takes. The SDK never uses it. `import httpx._main` still works afterwards.
"""

from __future__ import annotations

import sys
from types import ModuleType

COMMAND_LINE = "httpx._main"

if "httpx" not in sys.modules:
    # An empty module: httpx takes the missing name for missing packages, as in an installation without them.
    sys.modules[COMMAND_LINE] = ModuleType(COMMAND_LINE)
    try:
        import httpx  # noqa: F401 - for its effect
    finally:
        del sys.modules[COMMAND_LINE]
