"""Executors: what runs trials, in this process or on Ray, behind one small protocol."""
