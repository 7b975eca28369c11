"""What a user of pictures has to know of the lens, in the terms of OpenCV and of ROS.

There the middle of the first pixel is at 0, 0; here it is at 1/2, 1/2, so their principal points
are less by 1/2.
"""

from typing import Any

from sensor_models.camera.ccd.parameters import OpticsParameters
from sensor_models.camera.lens import fisheye_terms, kernel_lens
from sensor_models.kernels.camera.ways import Lens


def intrinsics_of(optics: OpticsParameters) -> dict[str, dict[str, Any]]:
    """What a user of the pictures of a camera with this lens has to know."""
    own = optics
    lens = kernel_lens(own.focal_lengths, own.principal_point, own.distortion_model, own.distortion)
    return intrinsics_of_lens(lens, own.width, own.height)


def intrinsics_of_lens(lens: Lens, width: int, height: int) -> dict[str, dict[str, Any]]:
    """Camera matrix and distortion as OpenCV has them, and a CameraInfo of ROS."""
    matrix = [[lens.fx, 0.0, lens.cx - 0.5], [0.0, lens.fy, lens.cy - 0.5], [0.0, 0.0, 1.0]]
    terms = list(fisheye_terms(lens.terms) if lens.fisheye else lens.terms)
    model, of_ros = "equidistant", terms
    if not lens.fisheye:
        rational = any(terms[5:])
        model = "rational_polynomial" if rational else "plumb_bob"
        of_ros = terms if rational else terms[:5]
    flat = [number for row in matrix for number in row]
    projection = [number for row in matrix for number in (*row, 0.0)]
    return {
        "opencv": {
            "camera_matrix": matrix,
            "distortion": terms,
            "fisheye": lens.fisheye,
            "image_size": [width, height],
        },
        "camera_info": {
            "height": height,
            "width": width,
            "distortion_model": model,
            "d": of_ros,
            "k": flat,
            "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            "p": projection,
        },
    }
