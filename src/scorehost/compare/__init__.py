"""Two jobs against each other: what differs, what moved, and what that says."""
