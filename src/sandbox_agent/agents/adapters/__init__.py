"""ACP agents around the vendors' own programs: `sandbox-agent adapter claude|codex|opencode|amp`.

An adapter runs behind the same bridge as every other agent. In each package `*_agent.py` manages sessions and
turns, `*_converter.py` converts native events to ACP updates without I/O, `schema.py` is generated from the
vendor's types, and `*_user_requests.py` sends permissions and questions to the client. `common/` is shared by
all.
"""
