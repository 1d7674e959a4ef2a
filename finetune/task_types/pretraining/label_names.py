"""The names of the two targets of pre-training with sentence pairs (Devlin et al. 2019, section 3.1)."""

WORDS = "words"  # the masked tokens, one id for each position that is read
NEXT = "next"  # 0: the second text follows the first; 1: it is another
