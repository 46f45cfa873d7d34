"""Study files: read, checked, and from then on a frozen record."""
