"""The documentation, served by the server itself, so that nothing is loaded from elsewhere."""
