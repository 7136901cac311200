"""Measures the server side by side with the reference binary and reports ratios; see docs/performance.md."""
