"""Whether a benchmark is sound: hand-ins that must pass or must not, scored as one job, and judged."""
