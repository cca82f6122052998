"""The documents that the vendor of a fictional chip ships: manuals, errata, older revisions, a sibling, and filler."""
