"""A finished job written for others: JUnit, JSON, Markdown, CSV, HTML."""
