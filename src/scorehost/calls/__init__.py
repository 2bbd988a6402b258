"""One call of a role: counted before it is made, kept, told, with or without an attempt."""
