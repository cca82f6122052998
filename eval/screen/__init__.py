"""Holds what a compiler made against the documented limits of a chip. Nothing runs and nothing is timed."""
