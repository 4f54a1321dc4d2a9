"""What is asked of a sample, one file per quantity."""
