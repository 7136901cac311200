"""The benchmark itself: it builds, it measures, and it detects a server that loses or changes messages."""
