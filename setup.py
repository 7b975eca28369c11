"""What a wheel holds: the packages, ``build_fmus``, and other folders under one name.

Scenes, examples and validation lie at the top of the project; ``pyproject.toml`` cannot find
packages and map others, too.
Folders without a module are packages, too, as far as Python and setuptools are concerned.
"""

from setuptools import find_namespace_packages, setup

FILES = {f"sensor_fmus_project.{folder}": folder for folder in ("scenes", "examples", "validation")}
BELOW = [
    f"{package}.{name}"
    for package, folder in FILES.items()
    for name in find_namespace_packages(folder, exclude=["*__pycache__*"])
]

setup(
    packages=[
        *find_namespace_packages(include=["sensor_models*", "fmus*"], exclude=["*__pycache__*"]),
        *FILES,
        *BELOW,
    ],
    package_dir=FILES,
    py_modules=["build_fmus"],
)
