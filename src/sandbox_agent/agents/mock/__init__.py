"""The mock agent: a scripted ACP agent on stdio that needs no key and no network.

`python -m sandbox_agent.agents.mock` runs it; `docs/mock-agent.md` lists the words it understands.
Only small parts of the standard library are imported (no typing, no dataclasses, no threads), because
tests start hundreds of these processes.
"""
