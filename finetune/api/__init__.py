"""The Python API: what `import finetune` gives; the command line calls the same functions."""
