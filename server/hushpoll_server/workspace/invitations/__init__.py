"""Invitation codes and the letters that carry them."""
