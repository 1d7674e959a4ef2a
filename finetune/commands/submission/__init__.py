"""The zip for the GLUE server."""
