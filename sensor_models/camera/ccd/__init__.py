"""The CCD camera: a picture of light, through a lens and a chip."""
