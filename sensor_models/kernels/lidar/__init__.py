"""Rays of a lidar, their trees, and the returns that they make."""
