"""The ASGI application under uvicorn, with the flags of `sandbox-agent server`."""

from __future__ import annotations

import os
import sys

import uvicorn

from sandbox_agent import logs
from sandbox_agent.cli.server import settings_parser
from sandbox_agent.http.app import create_app


def main() -> None:
    chosen = settings_parser.parse(sys.argv[2:], os.environ)  # argv[1] is `server`
    logs.set_up(chosen.log_level, chosen.log_format)
    uvicorn.run(
        create_app(chosen),
        host=chosen.host,
        port=chosen.port,
        http="httptools",
        log_config=None,
        timeout_graceful_shutdown=1,
        server_header=False,
    )


if __name__ == "__main__":
    main()
