"""The namespaces of the client: `agents`, `acp`, `config` and `fs`."""
