"""Turns texts into vectors on this machine: finds, compiles and runs the embedding model."""
