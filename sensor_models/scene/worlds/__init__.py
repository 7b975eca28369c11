"""Worlds that others made, read as scenes: MuJoCo models, URDF robots, USD and glTF.

``reading``        a file as a ``World``: a manifest and meshes, as somebody would have written them
``loading``        the scene of such a file, from the cache if it was read before
``writing``        the manifest and the meshes as files, for editing
``xml_files``      XML from elsewhere, read within bounds
``mujoco_source``  MJCF and URDF prepared for MuJoCo: files inside, what is not needed left out
``mujoco_compiler`` and ``mujoco_arrays``  MuJoCo's compiler in a process of its own
``mujoco_model``   a compiled model as a world
``mujoco_world``   a running simulation that sensors see
``usd``, ``usd_plain``  what is on a stage of USD as a world; its shapes that are no meshes
``usd_reader``, ``usd_stage`` and ``usd_shapes``  USD's own library in a process of its own
``apart``          processes for readers that a damaged file may end
``faces``          polygons as triangles
``formats``        which files these are; OpenMATERIAL has a room of its own, ``openmaterial``
``gltf``, ``placing``  glTF as a world; matrices as poses and scales
``files``          the files that a world names
``guesses``        materials by names and looks
"""
