"""Models whose outcome or predictors were randomized."""
