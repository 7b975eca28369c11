"""The files that a manifest uses: each is read once, and its pictures are numbered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.kept import digest_of_data
from sensor_models.scene.limits import file_inside, read_limited
from sensor_models.scene.mesh_files import MeshFile, read_clip, read_mesh
from sensor_models.scene.model import Brdf, Texture, Use
from sensor_models.scene.pictures import MOST_TEXELS_OF_SCENE, roughness_of, texture_of
from sensor_models.scene.primitives import Piece
from sensor_models.scene.schema import MeshTable, TextureTable
from sensor_models.scene.worlds.formats import REFUSE


@dataclass
class Source:
    """The manifest that meshes belong to, which files it may use, and which were read."""

    manifest: Path
    allow_outside: bool
    material_index: Callable[[str, str], int]  # name and key -> index, entered on first use
    is_material: Callable[[str], bool]
    label_number: Callable[[str, str], int]  # name and key -> number
    files: list[Path] = field(default_factory=list)
    digests: dict[Path, str] = field(default_factory=dict)  # of the files except the manifest
    #: Meshes that a reader of worlds has made, by the names that the manifest has for them.
    made: Mapping[str, Piece] = field(default_factory=dict)
    #: Tables of bidirectional reflectance, likewise, by wavelength.
    made_brdfs: Mapping[str, Mapping[float, Brdf]] = field(default_factory=dict)
    doubtful: bool = False  # something was logged that should be logged again next time
    triangles: int = 0
    vertices: int = 0
    textures: list[Texture] = field(default_factory=list)  # of all meshes
    notes: dict[str, None] = field(default_factory=dict)  # what is not used of files, in order
    _contents: dict[tuple[Any, ...], MeshFile] = field(default_factory=dict)
    _texture_numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def read(self, name: str, key: str, folder: Path | None = None) -> tuple[Path, bytes]:
        """Read a file that the manifest, or a file in ``folder``, refers to."""
        if folder is not None:
            name = str(folder / name)
        file = file_inside(name, key, self.manifest, self.allow_outside)
        if file not in self.files:
            self.files.append(file)
        data = read_limited(file, key, self.manifest)
        self.digests[file] = digest_of_data(data)
        return file, data

    def pieces(self, table: MeshTable, key: str) -> list[Piece]:
        """The pieces of a mesh file, which is read only once for all meshes made from it."""
        name = str(table.file)
        if name in self.made:
            return [self.made[name]]
        file, data = self.read(name, key)
        own = file, table.clip, table.postures
        if own not in self._contents:

            def read_file(other: str) -> bytes:
                return self.read(other, key, file.parent)[1]

            try:
                self._contents[own] = (
                    read_mesh(data, file, read_file)
                    if table.clip is None
                    else read_clip(data, file, read_file, table.clip, table.postures or 0)
                )
            except MeshFileError as error:
                raise SceneError(self.manifest, key, f"{name} {error}") from error
        pieces, textures, whole, notes = self._contents[own]
        self.doubtful |= not whole
        self.notes |= dict.fromkeys(f"{name}: {note}" for note in notes)
        bright = [_brighter(texture, table.luminance) for texture in textures]
        numbers = {k: self.texture_number(texture, key) for k, texture in enumerate(bright)}
        numbers[-1] = -1
        return [
            replace(
                piece, texture=numbers[piece.texture], maps=(numbers[a], numbers[b], numbers[c])
            )
            for piece in pieces
            for a, b, c in (piece.maps,)
        ]

    def brdfs(self, name: str, key: str) -> Mapping[float, Brdf]:
        """The tables of bidirectional reflectance in a file, by wavelength."""
        if name in self.made_brdfs:
            return self.made_brdfs[name]
        from sensor_models.scene.openmaterial.documents import parsed
        from sensor_models.scene.openmaterial.tables import Verdict, brdfs_of

        file, data = self.read(name, key)
        return brdfs_of(parsed(data, file), Verdict(REFUSE))

    def look(self, table: TextureTable, key: str) -> tuple[int, int, int, int]:
        """The numbers of the pictures of a texture of the manifest, by ``Use``; -1 for none."""
        one, lean, light = (1.0, 1.0, 1.0), table.lean, table.luminance
        color = self._picture(table.image, f"{key}.image", one, Use.color)
        rough = self._picture(table.roughness, f"{key}.roughness", one, Use.roughness)
        metal = self._picture(table.metal, f"{key}.metal", one, Use.roughness)
        normals = self._picture(table.normals, f"{key}.normals", (lean, lean, 1.0), Use.normals)
        glow = self._picture(table.emission, f"{key}.emission", (light, light, light), Use.emission)
        both = roughness_of(rough, metal) if rough or metal else None
        numbers = [
            -1 if each is None else self.texture_number(each, key)
            for each in (color, both, normals, glow)
        ]
        return numbers[0], numbers[1], numbers[2], numbers[3]

    def _picture(
        self, name: str | None, key: str, factor: tuple[float, float, float], use: Use
    ) -> Texture | None:
        """A picture that the manifest names."""
        if name is None:
            return None
        _, data = self.read(name, key)
        try:
            return texture_of(data, name, factor, use=use)
        except MeshFileError as error:
            raise SceneError(self.manifest, key, str(error)) from error

    def texture_number(self, texture: Texture, key: str) -> int:
        """The number of a texture, which is entered on first use."""
        content = digest_of_data(texture.pixels.tobytes())
        own = (content, texture.pixels.shape, texture.factor, texture.wrap, texture.use)
        if own not in self._texture_numbers:
            self._texture_numbers[own] = len(self.textures)
            self.textures.append(texture)
            taken = sum(known.pixels[..., 0].size for known in self.textures)
            if taken > MOST_TEXELS_OF_SCENE:
                reason = f"has pictures of {taken} texels with those before it, a scene may have"
                raise SceneError(self.manifest, key, f"{reason} {MOST_TEXELS_OF_SCENE}")
        return self._texture_numbers[own]


def _brighter(texture: Texture, luminance: float) -> Texture:
    """A picture of a file, whose light is multiplied if it has some."""
    if texture.use is not Use.emission:
        return texture
    red, green, blue = (luminance * part for part in texture.factor)
    return replace(texture, factor=(red, green, blue))
