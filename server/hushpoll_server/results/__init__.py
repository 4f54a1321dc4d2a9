"""The results, for accounts and for the public."""
