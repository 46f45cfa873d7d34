"""Runs made elsewhere, brought into the store."""
