"""The place to run examples in is that of the command line tests."""

from tests.cli.conftest import place

__all__ = ["place"]
