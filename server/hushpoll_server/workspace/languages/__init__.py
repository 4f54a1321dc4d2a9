"""Translations of a draft."""
