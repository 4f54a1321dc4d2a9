"""Samples: reports from files, engines and databases, with the channel of each question and the sample design."""
