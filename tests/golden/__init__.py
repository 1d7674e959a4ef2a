"""The golden set: what commands gave once, kept, so that a change of what they give is seen."""
