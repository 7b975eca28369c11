"""``python -m sensor_models.lidar``: see ``sensor_models.tools.pictures.lidar_command``."""

from sensor_models.tools.pictures.lidar_command import main

if __name__ == "__main__":
    main()
