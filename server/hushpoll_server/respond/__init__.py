"""What respondents see: the page, the paper form, their languages and files."""
