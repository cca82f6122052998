"""Reads AsciiDoc."""

from ingest.readers.asciidoc.reader import read as read
