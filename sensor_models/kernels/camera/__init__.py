"""Images of depth."""
