"""``python -m sensor_models.tools.caster``: see ``sensor_models.tools.pictures.caster_command``."""

import sys

from sensor_models.tools.pictures.caster_command import main

if __name__ == "__main__":
    sys.exit(main())
