"""Turns context, skills and a task into prompts and candidates. Only this package knows a model's SDK."""
