"""Optimisation runs: their journal on disk and the loop that drives one."""
