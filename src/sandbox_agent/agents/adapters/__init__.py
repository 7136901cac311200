"""ACP agents of our own around the vendors' programs: `sandbox-agent adapter claude|codex|opencode|amp`.

Each runs behind the same proxy as every other agent. One file holds an agent's life cycle, one its converter
(native event -> ACP update, no input or output); what they share has files of its own.
"""
