"""Searches settings: Optuna proposes, an executor trains, and the runs on disk are what is known.

`study.py` is the loop; read it first. A search repeated from its beginning asks for the same settings in the same
order, and finds the runs that are there instead of training them: so nothing else has to be saved to resume it.
"""
