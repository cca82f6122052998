"""What each language needs to be built and called in the worker."""
