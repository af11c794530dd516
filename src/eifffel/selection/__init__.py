"""Counts of a path and bounds -> one step, its certificate, its verdict."""
