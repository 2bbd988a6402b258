"""scorehost scores submitted work inside isolated Docker containers."""

__version__ = "0.1.0"
