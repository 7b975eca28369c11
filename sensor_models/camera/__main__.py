"""``python -m sensor_models.camera``: see ``sensor_models.tools.pictures.camera_command``."""

from sensor_models.tools.pictures.camera_command import main

if __name__ == "__main__":
    main()
