"""The body of `GET /v1/health`, as bytes.

The direct route answers probes with it before msgspec is loaded; a test compares it with the typed body.
"""

from __future__ import annotations

HEALTH_PATH = b"/v1/health"
HEALTH_BODY = b'{"status":"ok"}'
