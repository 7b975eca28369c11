"""Modules that standalone FMUs carry in place of others; they run only in FMUs."""
