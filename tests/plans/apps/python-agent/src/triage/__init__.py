"""Sorts incoming bug reports."""

__version__ = "0.3.0"
