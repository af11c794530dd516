"""Rows -> the leaves that they fall into -> counts of each leaf -> what flipping it would change."""
