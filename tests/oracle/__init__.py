"""The oracle: layouts of files with what a careful person reads in each, and what the tool makes of them."""
