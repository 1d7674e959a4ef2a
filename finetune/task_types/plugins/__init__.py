"""A file each, on public contracts."""
