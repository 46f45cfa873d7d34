"""Guards at the edges: text made printable, limits on foreign files, checksums, outputs that replace nothing else."""
