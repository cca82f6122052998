"""The judge, which decides on candidates for one task and target and never imports them."""
