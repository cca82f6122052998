"""The devices on which candidates are judged."""
