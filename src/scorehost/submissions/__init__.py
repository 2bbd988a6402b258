"""What was handed in: found, unpacked, read, taken in."""
