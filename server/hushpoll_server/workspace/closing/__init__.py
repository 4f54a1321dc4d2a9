"""Closing a survey and deleting its reports."""
