"""kb for agents, over the Model Context Protocol. Only this package imports its SDK."""
