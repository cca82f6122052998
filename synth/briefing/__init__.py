"""What to look up in the documents for a prompt: its phrasings may be changed here; `retrieval` ranks what is found."""
