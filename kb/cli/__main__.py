"""`python -m kb.cli`, for where the console script is not on the path."""

from kb.cli import main

main()
