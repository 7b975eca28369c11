"""An FMU on disk: unpacked, with what its model description says of names and types."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fmpy import read_model_description

from tests.masters.compiling import binaries_folder


@dataclass(frozen=True)
class Variable:
    """A variable as calls need it."""

    name: str
    reference: int
    type: str
    """Real, Integer, Boolean or String; an Enumeration is an Integer to all calls."""
    causality: str


@dataclass(frozen=True)
class FmuFiles:
    """An unpacked FMU."""

    directory: Path
    model_identifier: str
    guid: str
    variables: Mapping[str, Variable]

    @classmethod
    def unpack(cls, fmu: Path, directory: Path) -> "FmuFiles":
        """Unpacks an FMU file into a directory and reads its model description."""
        with zipfile.ZipFile(fmu) as archive:
            archive.extractall(directory)
        description = read_model_description(str(directory))
        variables = {
            variable.name: Variable(
                name=variable.name,
                reference=int(variable.valueReference),
                type="Integer" if variable.type == "Enumeration" else str(variable.type),
                causality=str(variable.causality),
            )
            for variable in description.modelVariables
        }
        identifier = description.coSimulation.modelIdentifier
        return cls(directory, identifier, description.guid, variables)

    @property
    def library(self) -> Path:
        """The FMU's binary for this machine."""
        return self.directory / binaries_folder() / f"{self.model_identifier}.so"

    @property
    def resource_uri(self) -> str:
        """The resource location to instantiate with."""
        return (self.directory / "resources").resolve().as_uri()

    def names(self, causality: str, type_name: str | None = None) -> list[str]:
        """Names of the variables with a causality (and type), in the order they are declared."""
        return [
            variable.name
            for variable in self.variables.values()
            if variable.causality == causality and type_name in (None, variable.type)
        ]
