"""Channels as linear maps: what reports to expect of a truth, how to get back, how to draw many at once."""
