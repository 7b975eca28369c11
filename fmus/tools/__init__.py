"""Tools around FMUs, packed into none: systems, campaigns, the command line."""
