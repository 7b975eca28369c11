"""``python -m sensor_models.scene``: see ``sensor_models.tools.pictures.scene_command``."""

from sensor_models.tools.pictures.scene_command import main

if __name__ == "__main__":
    main()
