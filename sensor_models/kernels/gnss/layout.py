"""Where a receiver's parameters, its readings and its state lie in flat arrays."""

from sensor_models.kernels.gnss.corruption import CORRUPTION_SIZE
from sensor_models.kernels.gnss.sky import PLACE_SIZE, SKY_SIZE

# A world: its origin and its axes x, y, z, Earth-fixed; latitude, longitude and height of the
# origin; and whether a scene hides satellites.
ORIGIN, WORLD_AXES, ORIGIN_GEODETIC, HAS_SCENE = 0, 3, 12, 15
WORLD_SIZE = 16

# Parameters. LEVER is the antenna in the body. TIME_OF_WEEK belongs to the time 0.
LEVER, MODE = 0, 3
CORRELATED, WHITE, TIME_CONSTANT = 4, 6, 8  # CORRELATED, WHITE: horizontal, vertical
VELOCITY_WHITE, VELOCITY_CORRELATED, RANGE_CORRELATED, RANGE_WHITE = 9, 10, 11, 12
TIME_OF_WEEK, LEAST_SINE, MULTIPATH = 13, 14, 15
NLOS_PROBABILITY, NLOS_MEAN = 16, 17
SOLUTION, CONVERGENCE_TIME, LEAST_SATELLITES = 18, 19, 20
DROPOUT_INTERVAL, DROPOUT_DURATION = 21, 22
CORRUPTION = 23  # errors of the reading
PARAMETERS_SIZE = CORRUPTION + CORRUPTION_SIZE

# MODE, MULTIPATH and SOLUTION are the numbers of the choices.
OFF, FIXED, DOP, PSEUDORANGE = 0.0, 1.0, 2.0, 3.0
NO_MULTIPATH, BIAS, IMAGE = 0.0, 1.0, 2.0
SINGLE, SBAS, RTK = 0.0, 1.0, 2.0

# A reading: what the receiver reports, its instant, and which rows of the table of orbits took
# part, as bits, as many a word as a float64 holds with room to spare.
TIME, LATITUDE, LONGITUDE, HEIGHT, VELOCITY = 0, 1, 2, 3, 4
FIX, CARRIER, SATELLITES, DILUTIONS, ACCURACY, IN_USE = 7, 8, 9, 10, 15, 17
BITS, WORDS = 48, 4
READING_SIZE = IN_USE + WORDS
MOST_SATELLITES = BITS * WORDS

NO_FIX, FIX_2D, FIX_3D = 0.0, 2.0, 3.0
NO_CARRIER, FLOAT, INTEGER = 0.0, 1.0, 2.0

# The state: the newest reading, what follows, the series of unit variance, and where the antenna
# is. SURVEYED is the whole second of GPS time of the last survey of an open sky, or NOT_SURVEYED;
# AXES and COLUMNS are those of the last geometry; DROPPED is whether there is a dropout. The sky
# and the series of each satellite come behind it, a row each.
STARTED, SURVEYED, AXES, COLUMNS, CONVERGING, SINCE, DROPPED = range(READING_SIZE, READING_SIZE + 7)
POSITION_SERIES = DROPPED + 1
VELOCITY_SERIES = POSITION_SERIES + 3
PLACE = VELOCITY_SERIES + 3
STATE_SIZE = PLACE + PLACE_SIZE

#: No second of GPS time: a sky that a scene hides is another one later, and one may be lost.
NOT_SURVEYED = -2.0

# Series of a satellite: of its range, and three that say whether and how far it is heard hidden.
RANGE_SERIES, FIRST_BIAS, SECOND_BIAS, HEARD = range(4)
SERIES_SIZE = 4
SATELLITE_SIZE = SKY_SIZE + SERIES_SIZE

# Keys of the random terms.
TERMS = (
    "error.correlated",
    "error.white",
    "velocity.correlated",
    "velocity.white",
    "range.correlated",
    "range.white",
    "nlos",
    "dropout",
)
(
    POSITION_TERM,
    POSITION_WHITE_TERM,
    VELOCITY_TERM,
    VELOCITY_WHITE_TERM,
    RANGE_TERM,
    RANGE_WHITE_TERM,
    NLOS_TERM,
    DROPOUT_TERM,
) = range(len(TERMS))

#: Factor on the errors while the carrier's ambiguities are not resolved. Our choice.
FLOAT_FACTOR = 20.0
