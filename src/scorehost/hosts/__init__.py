"""Scoring hosts: made, fed, spoken to, limited and removed."""
