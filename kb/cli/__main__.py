"""Runs `python -m kb.cli` where the `kb` script is not on the path."""

from kb.cli import main

main()
