"""A simulated report before publishing."""
