"""Files that users write, read strictly into frozen models."""
