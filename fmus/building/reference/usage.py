"""Notes for many FMUs, shown on the pages of those that have the variables concerned.

``NAME`` in a text is a variable and becomes a link.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from fmus.building.reference.markup import node, prose
from fmus.fmi.variables import VariableTable


@dataclass(frozen=True)
class Note:
    """A paragraph for FMUs that have a variable (``input a.b``) for each pattern in ``needs``."""

    title: str
    needs: tuple[str, ...]
    text: str
    without: tuple[str, ...] = ()
    """Variables that it must not have."""


NOTES = (
    Note(
        "Motion",
        (r"input body\.orientation\.w", r"parameter mount\.position\.x"),
        "``body.*`` is the state of the body that the sensor sits on, in the world frame, which is"
        " right-handed with z up. ``mount.*`` says where it sits, in the frame of the body. The"
        " sensor's own frame has x forward, y left and z up. Quaternions are w, x, y, z and take"
        " vectors of the body to the world; an orientation that is all zeros counts as not"
        " connected and is taken as 1, 0, 0, 0, with one warning.",
    ),
    Note(
        "Time",
        (r"parameter sample_rate", r"output sample\.time"),
        "A sensor samples at start + k / ``sample_rate``, whatever the communication steps are; a"
        " rate of 0 takes one sample for each step. Several samples in one step are all computed,"
        " in order, and the newest is on the outputs; where none falls into a step, the outputs"
        " hold. Between two known states a sensor interpolates, beyond them nothing is"
        " extrapolated. ``sample.time`` says which instant a reading belongs to.",
    ),
    Note(
        "Inputs at the beginning or the end of a step",
        (r"parameter inputs_at_step_end",),
        "By the rule of FMI, inputs that are set before a step describe its beginning. A master"
        " that steps the dynamics first and hands on its fresh outputs describes the end: set"
        " ``inputs_at_step_end`` then, or what belongs to an instant shows up one step later.",
    ),
    Note(
        "Frames",
        (r"output frame\.count", r"output frame\.file"),
        "Frame 0 is taken when the first step begins; before, ``frame.count`` is 0 and"
        " ``frame.file`` is empty. A frame is written by a thread of its own and gets its name when"
        " it is whole, so ``frame.file`` always names a complete file. Step the ``Environment``"
        " before the sensor, or it sees moving bodies up to a step late.",
    ),
    Note(
        "Scene",
        (r"input scene_handle", r"parameter scene"),
        "The world around is a scene. Connect ``scene_handle`` to the output of an"
        " ``Environment``, which moves the bodies of the scene: all sensors of a process then share"
        " it, and those in other processes of the same user on the machine see the same. With 0,"
        " the sensor opens the one that ``scene`` names, in which nothing moves. A handle that"
        " stands for nothing is an error.",
    ),
    Note(
        "Scene",
        (r"output scene_handle",),
        "Connect ``scene_handle`` to the sensors that are to see this scene. It stands for the same"
        " scene in all of them, in this process and in others of the same user on the machine, and"
        " they see its bodies where the inputs put them. ``build_fmus.py --scene FILE`` builds an"
        " ``Environment`` with inputs for the bodies of any other scene.",
    ),
    Note(
        "Magnetic field",
        (r"input scene_handle", r"parameter (magnetometer\.)?field\.x"),
        "With a ``scene_handle`` from an ``Environment``, the magnetic field is that of its scene;"
        " with 0, that of the parameters.",
    ),
    Note(
        "Files",
        (r"parameter write_files", r"parameter output_directory"),
        "Where ``output_directory`` is set, each frame is written to it, in the format"
        " ``output_format``. Where it is not, frames are written only if ``write_files`` is on,"
        " to a fresh directory under the system's temporary directory; with ``write_files`` off"
        " there are no files in any case. ``index.jsonl`` beside them has a line with the"
        " effective parameters, then one line a file with its frame, time, pose and counts. A"
        " directory that cannot be written to is an error at initialisation.",
    ),
    Note(
        "Records",
        (r"parameter record", r"parameter output_directory"),
        "With ``record``, all samples go to one file of the format ``output_format`` in"
        " ``output_directory`` (if that is empty, in a fresh directory under the system's temporary"
        " directory), which appears when the FMU is terminated, with a line in ``index.jsonl``"
        " that says what is in it and with which parameters.",
        without=(r"parameter record_format",),
    ),
    Note(
        "Records",
        (r"parameter record", r"parameter record_format", r"parameter output_directory"),
        "With ``record``, a table of all frames, with the outputs of each, goes to one file of the"
        " format ``record_format`` in ``output_directory`` (if that is empty, to a fresh directory"
        " under the system's temporary directory), which appears when the FMU is terminated.",
    ),
    Note(
        "Noise",
        (r"parameter seed",),
        "Noise is a function of ``seed``, the name of the instance, the error term and the number"
        " of the sample. The same run gives the same bits; instances with other names or seeds are"
        " independent.",
    ),
    Note(
        "Faults",
        (r"input (.*\.)?fault\.(.*\.)?mode",),
        "Faults are inputs, so a master can drive them while the sensor runs. A mode sticks the"
        " signal at a value, a wave is added to it; both come after all errors of the sensor.",
    ),
    Note(
        "Presets",
        (r"parameter preset",),
        "``preset`` names a product; upper and lower case, blanks and hyphens do not matter. A"
        " parameter that is set to something else than its start value wins over the preset. One"
        " that is to have its start value all the same is named in ``preset_except``.",
    ),
)

#: Notes for every FMU.
ALWAYS = (
    Note(
        "Bad values",
        (),
        "A value that makes no sense is refused with a message that names the variable, the value"
        " and what is allowed. The instance keeps the state it had and goes on.",
    ),
    Note(
        "Python",
        (),
        "The FMU runs in the Python of the process it is in, else in that of the interpreter that"
        " the environment variable FMU_PYTHON names, else in the one that built it, else in"
        " python3 of the search path. It needs the packages that resources/requirements.txt lists;"
        " if some are missing, it says how to install them.",
    ),
)


def applies(note: Note, table: VariableTable) -> bool:
    """Whether an FMU has all variables that a note is about."""
    there = [f"{variable.causality} {variable.name}" for variable in table.variables]

    def has(pattern: str) -> bool:
        return any(re.fullmatch(pattern, name) for name in there)

    return all(map(has, note.needs)) and not any(map(has, note.without))


def notes(table: VariableTable, anchors: Mapping[str, str]) -> Element:
    """The notes that apply to an FMU."""
    parts: list[Element] = []
    for note in (*NOTES, *ALWAYS):
        if applies(note, table):
            parts += [node("dt", note.title), node("dd", *prose(note.text, anchors))]
    return node("dl", *parts)
