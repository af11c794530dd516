"""The version of eifffel."""

__version__ = "0.1.0.dev0"
