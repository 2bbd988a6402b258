"""A job scored again from what it archived, beside the job that it was."""
