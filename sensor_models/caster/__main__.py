"""``python -m sensor_models.caster``: see ``sensor_models.pictures.caster_command``."""

import sys

from sensor_models.pictures.caster_command import main

if __name__ == "__main__":
    sys.exit(main())
