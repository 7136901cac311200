"""Sequences of faults that a seed chooses."""
