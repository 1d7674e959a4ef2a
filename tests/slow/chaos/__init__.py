"""The chaos harness: commands are killed and disturbed in every way, and must leave what they leave undisturbed."""
