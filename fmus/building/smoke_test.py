"""Files that are related to an FMU, which it contains: a smoke test, and its presets as numbers.

The layout is that of the layered standard "FMI-LS-REF" 1.0.0-beta.1, which is for FMI 2.0 and 3.0,
under ``extra/org.fmi-standard.fmi-ls-ref``::

    fmi-ls-manifest.xml    the related files and their roles
    experiments.xml        one experiment: start, stop, step, stimuli
    smoke_test_in.csv      time and inputs, to be interpolated linearly
    presets/NAME.ssv       a preset as parameter set (``parameter_sets``)

Inputs and times are those of the reference results (``reference_results``). The results themselves
are made by running the FMU and so cannot be in it. Experiments have the layout of an earlier draft
of the standard: it refers to another document for them now, which has no version yet. Columns of
inputs have the names of scalars, as tables of numbers have no others.
"""

import io
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fmus.building.parameter_sets import parameter_sets
from fmus.building.reference_results import START, STEP, motion, stop_of, write_table
from fmus.fmi.arrays import Interface
from fmus.fmi.base import FmuBase

FOLDER = "extra/org.fmi-standard.fmi-ls-ref"
MANIFEST, EXPERIMENTS, STIMULI = "fmi-ls-manifest.xml", "experiments.xml", "smoke_test_in.csv"
PRESETS = "presets"
#: Pages of each FMU's documentation: name, role, what it is.
PAGES = (
    ("index.html", "document", "Reference page of the FMU"),
    ("validation.html", "report", "Published measurements that the FMU was compared with"),
)
NAMESPACE = "http://fmi-standard.org/fmi-ls-manifest"
VERSION = "1.0.0-beta.1"
DESCRIPTION = "Layered Standard providing information on related files included in an FMU."


def related_files(model: type[FmuBase], interface: Interface = Interface.fmi2) -> dict[str, bytes]:
    """The files by their places in the FMU."""
    stimuli = io.StringIO()
    inputs = ((v.name, v.type_name, v.start) for v in model.table().of_causality("input"))
    write_table(stimuli, motion(inputs, stop_of(model.table().by_name)))
    sets = parameter_sets(model, interface)
    root = _manifest()
    _add_related(root, EXPERIMENTS, "experiment/smoke-test", "application/xml", "Smoke test")
    _add_related(root, STIMULI, "other", "text/csv", "Inputs of the smoke test")
    for page, role, about in PAGES:
        _add_related(root, f"../../documentation/{page}", role, "text/html", about)
    for file, (preset, _) in sets.items():
        about = f"{preset.datasheet['publisher']} {preset.name}: {preset.description}"
        kind = "application/x-ssp-parameter-set"
        _add_related(root, f"{PRESETS}/{file}", "parameter", kind, about)
    files = {
        MANIFEST: _text(root),
        EXPERIMENTS: _text(_experiments(model)),
        STIMULI: stimuli.getvalue().encode(),
        **{f"{PRESETS}/{file}": _text(element) for file, (_, element) in sets.items()},
    }
    return {f"{FOLDER}/{name}": content for name, content in files.items()}


def _manifest() -> Element:
    about = {
        "xmlns:fmi-ls": NAMESPACE,
        "fmi-ls:fmi-ls-name": "org.fmi-standard.fmi-ls-ref",
        "fmi-ls:fmi-ls-version": VERSION,
        "fmi-ls:fmi-ls-description": DESCRIPTION,
    }
    return Element("fmiReferences", about)


def _add_related(root: Element, source: str, role: str, kind: str, description: str) -> None:
    about = {"source": source, "role": role, "type": kind, "description": description}
    SubElement(root, "Related", about)


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
