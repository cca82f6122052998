"""Optimisation runs: the journal on disk and the loop that drives a run."""
