"""`python -m finetune`, which is also what a launcher of several processes starts."""

from finetune.cli.app import main

main()
