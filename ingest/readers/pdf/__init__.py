"""Reads PDF."""

from ingest.readers.pdf.reader import read as read
