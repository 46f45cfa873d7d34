"""Entries of the JSON that several sections share, as `TypedDict`s; docs/report_json.md describes each key.

A section declares its own in its module, and `report.sections.results` puts them together. Keys are written in the
order of the code that fills them, not in that of these classes.
"""
