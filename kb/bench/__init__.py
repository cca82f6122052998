"""Measure how well a home answers a file of questions (`kb bench retrieval`)."""
