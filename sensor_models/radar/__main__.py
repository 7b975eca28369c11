"""The command line of the radar: ``python -m sensor_models.radar``."""

import sys

from sensor_models.tools.pictures.radar_command import main

if __name__ == "__main__":
    sys.exit(main())
