"""Why a model answers as it does: what each word adds, by integrated gradients."""
