"""Surveys in rounds: what is asked next depends on what was answered, and nobody is asked twice."""
