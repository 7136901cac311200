"""Functions of this program as tools of an agent in the sandbox."""
