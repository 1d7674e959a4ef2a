"""Whether rows look like those that a model was trained on: first `measures.py`, `reference.py`, then `alike.py`."""
