"""Tests of sandbox-agent."""
