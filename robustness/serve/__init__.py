"""The live page of a store: what runs, what has come out so far, and what is left, read without disturbing a sweep."""
