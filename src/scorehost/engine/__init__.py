"""The one door to Docker: a small protocol, the real engine behind it, and its in-memory twin."""
