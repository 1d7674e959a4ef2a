"""The page that shows the inside of an encoder."""
