"""Reads source code."""

from ingest.readers.code.reader import read as read
