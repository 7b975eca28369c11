"""ecos with a fixed step, all sensors side by side. It names an instance by the path of its FMU."""

from ecospy import EcosSimulation, EcosSimulationStructure

from tests.masters.hosts.task import Rows, Sensor, Task, main


def row_of(simulation: EcosSimulation, sensor: Sensor) -> list[float]:
    reals = [simulation.get_real(f"{sensor.name}::{name}") for name in sensor.real_outputs]
    integers = [simulation.get_integer(f"{sensor.name}::{n}") for n in sensor.integer_outputs]
    return [*reals, *integers]


def simulate(task: Task) -> list[Rows]:
    with EcosSimulationStructure() as structure:
        for sensor in task.sensors:
            structure.add_model(sensor.name, sensor.fmu)
        parameters = {
            f"{sensor.name}::{name}": value
            for sensor in task.sensors
            for name, value in {**sensor.parameters, **sensor.texts}.items()
        }
        structure.add_parameter_set("chosen", parameters)
        results: list[Rows] = [[] for _ in task.sensors]
        with EcosSimulation(task.step, structure=structure) as simulation:
            assert simulation.init(parameter_set="chosen")
            for k in range(task.steps):
                for sensor in task.sensors:
                    for name, values in sensor.inputs.items():
                        simulation.set_real(f"{sensor.name}::{name}", values[k])
                simulation.step()
                for sensor, rows in zip(task.sensors, results, strict=True):
                    rows.append(row_of(simulation, sensor))
            simulation.terminate()
    return results


if __name__ == "__main__":
    main(simulate)
