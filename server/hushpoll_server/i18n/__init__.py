"""Languages: which one a page speaks, the catalogues, and how sentences, numbers and days are written in it."""
