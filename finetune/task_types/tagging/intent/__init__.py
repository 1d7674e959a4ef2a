"""An intent for each text and a tag for each of its words: a form of tagging that answers both from one pass."""
