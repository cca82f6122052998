"""kb for agents, over the Model Context Protocol. The only place that knows its SDK."""
