"""Surveys on paper: odds for coins and dice, slips, and sheets typed in."""
