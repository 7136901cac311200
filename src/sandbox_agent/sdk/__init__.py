"""The Python SDK: a client of the server's public HTTP API.

`api.py` lists the public names; `sandbox_agent` loads them on first use. `universal` and `stores` can be
imported without an HTTP client.
"""
