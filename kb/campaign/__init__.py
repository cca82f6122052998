"""Many runs with one budget: which tasks, how much for each, and the table of what came of them."""
