"""Universal events: the legacy event schema and its derivation from ACP messages, without any I/O."""
