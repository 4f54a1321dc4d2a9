"""From a draft to a published survey."""
