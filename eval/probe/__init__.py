"""Measures what this machine can do."""
