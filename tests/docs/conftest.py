"""The sandbox to run commands in is that of the command line tests."""

from tests.cli.conftest import sandbox

__all__ = ["sandbox"]
