"""Modules that standalone FMUs carry in place of others; they run in FMUs alone."""
