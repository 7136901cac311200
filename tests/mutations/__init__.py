"""Proof that the tests notice: behaviours broken on purpose in a copy of the source."""
