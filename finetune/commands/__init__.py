"""A folder for each command: `command.py` (what is typed and printed), `api.py` (for `import finetune`), and the rest.

No command imports another: what two of them need lies below.
"""
