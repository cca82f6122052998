"""From files to the catalog: read, chunk, find facts, embed, store."""
