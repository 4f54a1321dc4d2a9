"""Surveys in rounds: each query depends on earlier answers, and each person is asked once."""
