"""Build prompts for a model or a person, and parse the answers. Pure functions of text."""
