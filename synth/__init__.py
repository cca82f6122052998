"""Turns context, skills and a task into prompts and candidates: what is said, who writes kernels, what to try next."""
