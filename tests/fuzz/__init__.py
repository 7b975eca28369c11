"""What strangers do to the FMUs, drawn at random and the same on every run with one seed."""
