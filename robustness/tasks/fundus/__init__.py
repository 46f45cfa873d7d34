"""Fundus photographs: drawn ones, and the preparation and reading of real ones."""
