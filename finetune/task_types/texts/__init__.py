"""What the types whose input is a text or a pair share: their columns, and how a report shows them."""
