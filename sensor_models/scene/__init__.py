"""Scenes: the world that all sensors that see share.

``model``      what a scene is: meshes, instances, bodies, materials, media
``manifest``   a scene from its TOML file
``materials``  the library of surface materials and ambient media
``tracing``    the scene as Embree sees it; closest hits and all hits along rays
``registry``   one scene for each handle, in the process and between processes
``view``       pictures for people

``python -m sensor_models.scene view NAME`` renders a scene, ``check FILE`` validates one.
"""
