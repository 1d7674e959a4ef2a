"""The language that a person reads: a folder each, with a file of sentences for each part of the program."""
