"""The variance of a mechanism for a target at an epsilon: the one home behind plan, design, recommend and budget.

`spread` has that of the quantity that is hardest to estimate, at the worst truth: margins are made of it. `total` has
the sum over all quantities of a design problem at an expected truth, or the largest over all truths: designs are
compared by it.
"""
