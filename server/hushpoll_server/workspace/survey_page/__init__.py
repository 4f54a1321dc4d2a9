"""The page of a published survey."""
