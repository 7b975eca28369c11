"""``python -m sensor_models.gnss``: see ``sensor_models.tools.pictures.gnss_command``."""

from sensor_models.tools.pictures.gnss_command import main

if __name__ == "__main__":
    main()
