"""The languages of candidates, each with its adapter that builds and calls a candidate in the worker."""
