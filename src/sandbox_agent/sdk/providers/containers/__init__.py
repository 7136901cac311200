"""Sandboxes in containers of Docker or Podman, through the Engine's API."""
