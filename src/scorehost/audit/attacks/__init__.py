"""The kit of dishonest submissions: none of them solves anything, so none may be PASS."""
