"""Before a survey: how many answers, how much privacy, which mechanism."""
