"""Bring files into the catalog: read, chunk, find facts, embed, store."""
