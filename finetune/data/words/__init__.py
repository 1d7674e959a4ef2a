"""The words of languages, a file each: `lists.py` says what the lists in them are for."""
