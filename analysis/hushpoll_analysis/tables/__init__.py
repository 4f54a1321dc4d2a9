"""Two questions together: cross-tables, comparisons, tests of independence."""
