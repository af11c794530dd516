"""The paper's experiments: ``python -m reproduction`` or `reproduction.schedule.reproduce` runs them all.

Nothing is imported here, so that the program answers Ctrl-C before it loads what takes time.
"""
