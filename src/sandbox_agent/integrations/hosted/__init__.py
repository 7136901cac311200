"""Sandboxes of hosted services. These adapters were not run against the services, only against fakes."""
