"""Threads that kernels run on."""
