"""Plug-ins for evaluation frameworks and adapters for hosted sandboxes, each behind its extra."""
