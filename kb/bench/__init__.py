"""How well a home answers a file of questions: what `kb bench retrieval` runs."""
