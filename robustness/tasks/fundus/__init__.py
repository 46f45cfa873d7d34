"""Fundus photographs: synthetic images, and the preparation and loading of real ones."""
