"""The Python API: what `import finetune` gives; a command that has a function here calls it."""
