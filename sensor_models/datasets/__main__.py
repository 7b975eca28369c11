"""``python -m sensor_models.datasets``: see ``sensor_models.pictures.dataset_command``."""

import sys

from sensor_models.pictures.dataset_command import main

if __name__ == "__main__":
    sys.exit(main())
