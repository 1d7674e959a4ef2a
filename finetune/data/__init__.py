"""A user's own data: files of many formats, what their columns mean, what is wrong with them, tasks made of them."""
