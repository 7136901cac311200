"""`python -m sandbox_agent.http.openapi` prints the OpenAPI document."""

from __future__ import annotations

import sys

from sandbox_agent.http.endpoints.api_docs import document_bytes

sys.stdout.buffer.write(document_bytes())
