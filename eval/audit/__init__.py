"""Audits of tasks: whether a task can be judged on this machine, and whether a verdict on it would mean anything."""
