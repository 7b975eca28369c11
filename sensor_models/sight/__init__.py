"""What the sensors that see share: opening the scene, and the nearest reading."""
