"""Working on a draft with others, and letting people read it."""
