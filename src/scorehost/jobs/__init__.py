"""Many attempts: planned, scheduled, journaled, resumed and summed up."""
