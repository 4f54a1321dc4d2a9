"""What respondents see around the questions."""
