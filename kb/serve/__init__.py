"""A team's home: the page, MCP and a JSON API in one process, for the people who have a token."""
