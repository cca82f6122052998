"""Files that work without kb."""
