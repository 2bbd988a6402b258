"""Values that every layer speaks: ids, limits, failures, checks, results."""
