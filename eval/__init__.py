"""Judge whether a kernel is correct and fast, and probe machines. Imports no more of kb than kb.types and kb.errors."""
