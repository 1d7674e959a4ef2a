"""Searches settings: Optuna proposes them, runs are trained, and its journal keeps what came of them (`study.py`)."""
