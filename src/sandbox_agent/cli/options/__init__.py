"""Options that several commands share, and the types of their values."""
