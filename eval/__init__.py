"""Judge whether a kernel is correct and fast, and probe machines. Of kb: types, errors, storage and facts.select."""
