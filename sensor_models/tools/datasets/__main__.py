"""``python -m sensor_models.tools.datasets``: see ``tools.pictures.dataset_command``."""

import sys

from sensor_models.tools.pictures.dataset_command import main

if __name__ == "__main__":
    sys.exit(main())
