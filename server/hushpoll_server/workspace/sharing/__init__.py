"""Handing out a survey and sharing its results."""
