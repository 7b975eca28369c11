"""Campaigns: many runs of a system of FMUs, with other parameters and seeds in each.

``description``  what is varied, measured and kept, read from TOML
``design``       the table of runs that follows from it
``expressions``  what metrics may compute
``master``       one run
``results``      the rows, in a journal and in a Parquet table
``campaign``     all runs, by the workers of a pool
``worker``       what a worker does; ``unpacked`` opens its FMUs
``report``       a page with figures
"""
