"""Metrics for Prometheus that show how the server does, and no single arrival."""
