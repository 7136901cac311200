"""The directory, or zip file, that `sandbox_agent` is imported from."""

import os

PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
