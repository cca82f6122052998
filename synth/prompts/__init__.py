"""What a model or a person is told, and how an answer is read: change words in templates/, the code only fills them."""
