"""Unequal chances of being asked: weights, strata, clusters, raking."""
