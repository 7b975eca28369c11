"""fmpy's simulation of one FMU, for one sensor after the other."""

import numpy as np
from fmpy import simulate_fmu

from tests.masters.hosts.task import Rows, Sensor, Task, main


def simulate_one(task: Task, sensor: Sensor) -> Rows:
    """The rows of one sensor; the first that fmpy gives belongs to initialisation."""
    times = task.step * np.arange(task.steps + 1)
    columns = [[*values, values[-1]] for values in sensor.inputs.values()]
    names = [("time", float), *((name, float) for name in sensor.inputs)]
    rows = simulate_fmu(
        sensor.fmu,
        stop_time=float(times[-1]),
        output_interval=task.step,
        start_values={**sensor.parameters, **sensor.choices},
        input=np.array(list(zip(times, *columns, strict=True)), dtype=names),
        output=sensor.outputs,
    )
    return [[float(row[name]) for name in sensor.outputs] for row in rows[1:]]


def simulate(task: Task) -> list[Rows]:
    return [simulate_one(task, sensor) for sensor in task.sensors]


if __name__ == "__main__":
    main(simulate)
