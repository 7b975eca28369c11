"""What FMUs are built from; used by the build only, and not packed."""
