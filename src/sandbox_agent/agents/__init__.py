"""Coding agents: which exist, how they are installed and started, and those that are part of this package.

catalog/    the known agents as data (catalog/builtin/) and the user's own file
install/    packages from npm, PyPI and the ACP registry into the data directory
launch/     from an agent's id to the command, environment and directory of its process
inventory/  what `GET /v1/agents` answers: installed, version, credentials, models and modes
adapters/   ACP adapters around the vendors' own programs
mock/       a scripted ACP agent for tests
"""
