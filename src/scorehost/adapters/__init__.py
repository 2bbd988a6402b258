"""Agents played from the controller's machine: adapters that are programs, and endpoints."""
