"""The names of the targets of pre-training."""

WORDS = "words"  # the masked tokens, one id for each position that is read
NEXT = "next"  # 0: the second text follows the first; 1: it is another, or the first
BOUNDARY = "boundary"  # as WORDS, predicted from the tokens around a span (Joshi et al. 2020)
REPLACED = "replaced"  # every token that was there; the model tells which were replaced (Clark et al. 2020)
