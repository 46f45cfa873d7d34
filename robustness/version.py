"""The version of the package; its metadata is made from this line."""

__version__ = "0.2.0"
