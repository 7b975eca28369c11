"""ecos with an unpacked system. It names an instance by the path of its FMU.

It steps the parts in as many threads as there are processors, in no order, so that a sensor may see
the bodies of the scene a step late, now and then. On one processor it has an order.
"""

import os

from ecospy import EcosLib, EcosSimulation

from tests.masters.hosts.system_task import Outputs, SystemRows, SystemTask, main


def row_of(simulation: EcosSimulation, part: str, outputs: Outputs) -> list[float]:
    return [
        *(simulation.get_real(f"{part}::{name}") for name in outputs.names["Real"]),
        *(simulation.get_integer(f"{part}::{name}") for name in outputs.names["Integer"]),
        *(simulation.get_bool(f"{part}::{name}") for name in outputs.names["Boolean"]),
    ]


def simulate(task: SystemTask) -> SystemRows:
    EcosLib.set_log_level("err")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = []
    with EcosSimulation(task.step, ssp_path=task.ssp) as simulation:
        assert simulation.init(parameter_set=task.name)
        for _ in range(task.steps):
            simulation.step()
            rows.append({n: row_of(simulation, n, task.parts[n]) for n in task.parts})
        simulation.terminate()
    return rows


if __name__ == "__main__":
    main(simulate)
