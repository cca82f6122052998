"""Finds identifiers in documents: where they are defined, listed, called and mentioned, and whether documents agree."""
