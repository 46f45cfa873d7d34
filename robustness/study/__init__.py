"""Study files: read, checked and turned into a frozen record."""
