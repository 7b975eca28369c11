"""A smoke test that each FMU contains: inputs, and how long and in which steps to run.

The layout of the files is that of the layered standard "FMI-LS-REF", draft 1.0.0-alpha.1, under
``extra/org.fmi-standard.fmi-ls-ref``::

    fmi-ls-manifest.xml    the related files and their roles
    experiments.xml        one experiment: start, stop, step, stimuli
    smoke_test_in.csv      time and inputs, to be interpolated linearly

Inputs and times are those of the reference results (``reference_results``). The results themselves
are made by running the FMU and so cannot be in it. The layout was written from examples of the
draft; it was not read by a tool, because none was available.
"""

import io
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fmus.base import FmuBase
from fmus.reference_results import START, STEP, motion, stop_of, write_table

FOLDER = "extra/org.fmi-standard.fmi-ls-ref"
MANIFEST, EXPERIMENTS, STIMULI = "fmi-ls-manifest.xml", "experiments.xml", "smoke_test_in.csv"
NAMESPACE = "http://fmi-standard.org/fmi-ls-manifest"
VERSION = "1.0.0-alpha.1"


def smoke_test_files(model: type[FmuBase]) -> dict[str, bytes]:
    """The files by their places in the FMU."""
    stimuli = io.StringIO()
    inputs = ((v.name, v.type_name, v.start) for v in model.table().of_causality("input"))
    write_table(stimuli, motion(inputs, stop_of(model.table().by_name)))
    files = {
        MANIFEST: _text(_manifest()),
        EXPERIMENTS: _text(_experiments(model)),
        STIMULI: stimuli.getvalue().encode(),
    }
    return {f"{FOLDER}/{name}": content for name, content in files.items()}


def _manifest() -> Element:
    about = {
        "xmlns:fmi-ls": NAMESPACE,
        "fmi-ls:fmi-ls-name": "org.fmi-standard.fmi-ls-ref",
        "fmi-ls:fmi-ls-version": VERSION,
        "fmi-ls:fmi-ls-description": "Files that are related to the FMU",
    }
    root = Element("fmiReferences", about)
    for source, role, kind in (
        (EXPERIMENTS, "experiments", "application/xml"),
        (STIMULI, "input", "text/csv"),
    ):
        SubElement(root, "Related", {"source": source, "role": role, "type": kind})
    return root


def _experiments(model: type[FmuBase]) -> Element:
    root = Element("Experiments", {"name": f"Smoke tests of {model.model_name}"})
    stop = stop_of(model.table().by_name)
    how = {"startTime": repr(START), "stopTime": repr(stop), "stepSize": repr(STEP)}
    what = "All parameters at their start values; each step succeeds"
    experiment = SubElement(root, "Experiment", {"name": "Smoke test", "description": what, **how})
    SubElement(experiment, "Stimuli", {"source": STIMULI, "type": "text/csv"})
    return root


def _text(root: Element) -> bytes:
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'.encode()
