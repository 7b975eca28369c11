"""Accelerometer, gyroscope, magnetometer and IMU, the errors they share, and their judges."""
