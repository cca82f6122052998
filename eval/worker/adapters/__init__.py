"""What builds and calls a candidate of each language in the worker."""
