"""Careless, cheating and self-protective answers."""
