"""All that knows a runs folder."""
