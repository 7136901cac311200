"""The sandbox to run examples in is that of the command line tests."""

from tests.cli.conftest import sandbox

__all__ = ["sandbox"]
