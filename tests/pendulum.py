"""Builds ``Pendulum``: somebody else's dynamics, with the names and units of a Modelica tool."""

import math
import zipfile
from pathlib import Path

from tests.masters.compiling import binaries_folder, compile_c

SOURCE = Path(__file__).with_name("pendulum.c")
GUID = "{5f0c3f0e-9a52-4c1b-8d0e-0d6a1f7b2c11}"

VARIABLES = (
    ("L", "parameter", 'unit="m" min="0.01" start="1.0"'),
    ("phi0", "parameter", 'declaredType="Angle" start="0.1"'),
    ("rev.phi", "output", 'declaredType="Angle"'),
    ("rev.w", "output", 'unit="rad/s"'),
    ("phi_deg", "output", 'unit="deg"'),
    *((f"body.r[{i}]", "output", 'unit="m"') for i in (1, 2, 3)),
    *((f"body.v[{i}]", "output", 'unit="m/s"') for i in (1, 2, 3)),
    *((f"body.w[{i}]", "output", 'unit="rad/s"') for i in (1, 2, 3)),
    *((f"body.phi[{i}]", "output", 'declaredType="Angle"') for i in (1, 2, 3)),
)
UNITS = """
    <Unit name="m"><BaseUnit m="1"/></Unit>
    <Unit name="rad"><BaseUnit rad="1"/></Unit>
    <Unit name="deg"><BaseUnit rad="1" factor="0.017453292519943295"/></Unit>
    <Unit name="rad/s"><BaseUnit s="-1"/></Unit>
    <Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
"""


def phi(time: float, length: float = 1.0, start: float = 0.1) -> float:
    """The angle of the pendulum."""
    return start * math.cos(math.sqrt(9.80665 / length) * time)


def description() -> str:
    """The model description."""
    variables = "".join(
        f'<ScalarVariable name="{name}" valueReference="{place}" causality="{causality}"'
        f' variability="{"fixed" if causality == "parameter" else "continuous"}">'
        f"<Real {rest}/></ScalarVariable>\n"
        for place, (name, causality, rest) in enumerate(VARIABLES)
    )
    outputs = "".join(f'<Unknown index="{i}"/>' for i in range(3, len(VARIABLES) + 1))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Mechanics.Pendulum" guid="{GUID}">
<CoSimulation modelIdentifier="Pendulum" canHandleVariableCommunicationStepSize="true"/>
<UnitDefinitions>{UNITS}</UnitDefinitions>
<TypeDefinitions><SimpleType name="Angle"><Real unit="rad"/></SimpleType></TypeDefinitions>
<ModelVariables>
{variables}</ModelVariables>
<ModelStructure><Outputs>{outputs}</Outputs><InitialUnknowns>{outputs}</InitialUnknowns>
</ModelStructure>
</fmiModelDescription>
"""


def write_fmu(path: Path, text: str, library: Path | None = None) -> Path:
    """Pack an FMU with this description."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", text)
        if library is not None:
            archive.write(library, f"{binaries_folder()}/Pendulum.so")
    return path


def build_pendulum(directory: Path) -> Path:
    """Compile and pack the pendulum."""
    flags = ("-shared", "-fPIC", f'-DMODEL_GUID="{GUID}"')
    library = compile_c(directory / "pendulum.so", [SOURCE], *flags)
    return write_fmu(directory / "Pendulum.fmu", description(), library)
