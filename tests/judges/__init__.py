"""Programs of those who use such data, as judges of it: they know nothing of this project."""
