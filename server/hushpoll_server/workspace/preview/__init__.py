"""The respondents' page of a draft."""
