"""The client side: talks to a server over its public HTTP API only.

The public names are in `api.py`; they can be had from `sandbox_agent` itself, which loads them on
first use. The mapper and the stores can be imported without an HTTP client.
"""
