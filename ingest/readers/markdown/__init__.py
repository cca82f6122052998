"""Reads Markdown."""

from ingest.readers.markdown.reader import read as read
