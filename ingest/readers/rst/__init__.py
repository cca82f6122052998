"""Reads reStructuredText."""

from ingest.readers.rst.reader import read as read
