"""Turns: prompts, their content, their order and their results."""
