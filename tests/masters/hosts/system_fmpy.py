"""fmpy's master for systems with a packed system, and its set of numbers."""

from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssv

from tests.masters.hosts.system_task import SystemRows, SystemTask, main


def simulate(task: SystemTask) -> SystemRows:
    found = simulate_ssp(
        task.ssp,
        stop_time=task.step * (task.steps - 0.5),
        step_size=task.step,
        parameter_set=read_ssv(task.ssp, resource="resources/numbers.ssv"),
    )
    return [
        {
            part: [float(row[f"{part}.{name}"]) for name in outputs.in_order]
            for part, outputs in task.parts.items()
        }
        for row in found
    ]


if __name__ == "__main__":
    main(simulate)
