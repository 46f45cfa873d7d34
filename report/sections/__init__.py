"""The sections of the report, a module each."""
