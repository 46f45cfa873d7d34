"""Executors run trials, in this process or on Ray, behind one small protocol."""
