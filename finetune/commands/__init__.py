"""A folder for each command: `command.py` is what is typed and printed, `api.py` what `import finetune` gives, and the
rest belongs to it alone. No command imports another: what two of them need lies below.
"""
