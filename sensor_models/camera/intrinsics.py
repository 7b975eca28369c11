"""What a user of pictures has to know of the lens, in the terms of OpenCV and of ROS.

There the middle of the first pixel is at 0, 0; here it is at 1/2, 1/2, so their principal points
are less by 1/2.
"""

from sensor_models.camera.ccd_parameters import OpticsParameters
from sensor_models.camera.lens import Distortion, fisheye_terms


def intrinsics_of(optics: OpticsParameters) -> dict[str, object]:
    """Camera matrix and distortion as OpenCV has them, and a CameraInfo of ROS."""
    (fx, fy), (cx, cy) = optics.focal_lengths, optics.principal_point
    matrix = [[fx, 0.0, cx - 0.5], [0.0, fy, cy - 0.5], [0.0, 0.0, 1.0]]
    fisheye = optics.distortion_model == Distortion.fisheye
    terms = list(fisheye_terms(optics.distortion) if fisheye else optics.distortion)
    model, of_ros = "equidistant", terms
    if not fisheye:
        rational = any(terms[5:])
        model = "rational_polynomial" if rational else "plumb_bob"
        of_ros = terms if rational else terms[:5]
    flat = [number for row in matrix for number in row]
    projection = [number for row in matrix for number in (*row, 0.0)]
    return {
        "opencv": {
            "camera_matrix": matrix,
            "distortion": terms,
            "fisheye": fisheye,
            "image_size": [optics.width, optics.height],
        },
        "camera_info": {
            "height": optics.height,
            "width": optics.width,
            "distortion_model": model,
            "d": of_ros,
            "k": flat,
            "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            "p": projection,
        },
    }
