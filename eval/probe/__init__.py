"""Measure what this machine can do."""
