"""Task types and objectives on the public contract, a file each."""
