"""Faults of agents, clients and the machine, mixed at random from a seed."""
