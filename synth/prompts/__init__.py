"""What a model or a person is asked, and how the answer is read. Pure functions of text."""
