"""Logged numbers as charts: in the terminal, or as an image."""
