"""``python -m sensor_models.waveform``: see ``sensor_models.tools.pictures.waveform_command``."""

import sys

from sensor_models.tools.pictures.waveform_command import main

if __name__ == "__main__":
    sys.exit(main())
