"""The frameworks use the agents that the tests of real agents have installed."""

from tests.real_agents.conftest import data_home

__all__ = ["data_home"]
