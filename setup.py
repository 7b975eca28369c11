"""What a wheel holds: the packages, ``build_fmus``, and scenes and examples under one name.

These lie at the top of the project; ``pyproject.toml`` cannot find packages and map others, too.
"""

from setuptools import find_packages, setup

FILES = {f"sensor_fmus_project.{folder}": folder for folder in ("scenes", "examples")}

setup(
    packages=[*find_packages(include=["sensor_models*", "fmus*"]), *FILES],
    package_dir=FILES,
    py_modules=["build_fmus"],
)
