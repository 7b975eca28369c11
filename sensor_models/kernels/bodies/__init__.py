"""Bodies that are carried by others."""
