"""Privacy and accuracy: expected answers and margins in, epsilon out."""
