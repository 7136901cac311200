"""The benchmark itself: it builds, it measures, and it notices a server that cheats."""
