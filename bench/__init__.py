"""Measures the server beside the reference binary and reports ratios; see docs/performance.md."""
