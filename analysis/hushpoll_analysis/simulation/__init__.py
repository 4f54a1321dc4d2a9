"""Simulated respondents, the audit of epsilon, and whole reports enumerated."""
