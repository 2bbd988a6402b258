"""Datasets of other projects, written out as scorehost datasets."""
