"""The mock agent: a scripted ACP agent on stdio that needs no key and no network.

`python -m sandbox_agent.agents.mock` runs it; docs/mock-agent.md lists its commands. Tests start hundreds of
these processes, so it imports little: NamedTuples instead of dataclasses (8 ms), no asyncio, no uuid (4 ms).
"""
