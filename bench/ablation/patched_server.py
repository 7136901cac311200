"""The server with one trick switched off: `python -m bench.ablation.patched_server NUMBER server ...`.

NUMBER is the index in `TRICKS`, or `all` for the server as it is, so that both sides of a comparison start in
the same way.
"""

from __future__ import annotations

import sys

from bench.ablation.tricks import TRICKS


def main() -> None:
    _, chosen, *arguments = sys.argv
    if chosen != "all":
        TRICKS[int(chosen)].switch_off()
    sys.argv = ["sandbox-agent", *arguments]
    from sandbox_agent.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
