"""Task groups, threads, clocks."""
