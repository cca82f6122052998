"""Reads HTML."""

from ingest.readers.html.reader import read as read
