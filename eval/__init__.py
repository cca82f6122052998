"""Judge whether a kernel is correct and fast, and probe machines. Of kb it imports types, errors, storage and facts.select."""
