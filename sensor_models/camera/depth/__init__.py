"""The depth camera: images of distance, ids and normals."""
