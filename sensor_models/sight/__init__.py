"""What all sensors share that see the world: the scene, and what is nearest in it."""
