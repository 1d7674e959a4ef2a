"""Comparisons, tables and reports from the files of runs."""
