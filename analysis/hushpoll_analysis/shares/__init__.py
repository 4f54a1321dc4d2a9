"""True shares from report counts, with intervals."""
