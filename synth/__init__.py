"""context + skills + task → prompt → candidates. The only package that knows a model's SDK."""
