"""Runs of several tasks that share one encoder. Read run.py first."""
