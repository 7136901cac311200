"""Write agents/catalog/builtin_tables.py: the content of agents.toml as Python.

Run it after every change of agents.toml; tests/agents/catalog/test_catalog.py fails if somebody forgot.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

AGENTS = Path(__file__).parent.parent / "src" / "sandbox_agent" / "agents" / "catalog"
HEAD = '''"""What agents.toml says, agent by agent. Made by scripts/agent_tables.py: change the other file."""

# ruff: noqa: E501 - made by a program, one line for each key
# fmt: off

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLES: dict[str, dict[str, Any]] = {
'''


def literal(value: Any) -> str:
    """The value as Python spells it, with double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
    return repr(value)


def lines(tables: list[dict[str, Any]]) -> Iterator[str]:
    for table in tables:
        yield f"    {literal(table['id'])}: {{\n"
        for key, value in table.items():
            yield f"        {literal(key)}: {literal(value)},\n"
        yield "    },\n"


def main() -> None:
    tables = tomllib.loads((AGENTS / "agents.toml").read_text("utf-8"))["agent"]
    (AGENTS / "builtin_tables.py").write_text(HEAD + "".join(lines(tables)) + "}\n", "utf-8")


if __name__ == "__main__":
    main()
