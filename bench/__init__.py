"""How fast scorehost is beside the engine's own floor; `python -m bench` prints the table."""
