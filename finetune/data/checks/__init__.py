"""`finetune check DATA`: what is looked at, the checks, what they find, and the safe mends."""
