"""Pages for people: `kb web`, and a run as one file. They show views and call use cases; nothing else lives here."""
