"""libcosim with a fixed step, all sensors side by side; it steps them in threads of its own."""

from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimManipulator import CosimManipulator
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave

from tests.masters.hosts.task import Rows, Task, main


def simulate(task: Task) -> list[Rows]:
    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_step_size(step_size=round(task.step * 1e9))
    slaves = [CosimLocalSlave(sensor.fmu, sensor.name) for sensor in task.sensors]
    indices = [execution.add_local_slave(slave) for slave in slaves]
    inputs, outputs = CosimManipulator.create_override(), CosimObserver.create_last_value()
    assert execution.add_manipulator(inputs)
    assert execution.add_observer(outputs)
    for index, sensor in zip(indices, task.sensors, strict=True):
        for name, value in sensor.parameters.items():
            assert execution.real_initial_value(index, sensor.references[name], value)
        for name, text in sensor.texts.items():
            assert execution.string_initial_value(index, sensor.references[name], text)
    results: list[Rows] = [[] for _ in indices]
    for k in range(task.steps):
        for index, sensor in zip(indices, task.sensors, strict=True):
            references = [sensor.references[name] for name in sensor.inputs]
            values = [column[k] for column in sensor.inputs.values()]
            assert inputs.slave_real_values(index, references, values)
        assert execution.step()
        for index, sensor, rows in zip(indices, task.sensors, results, strict=True):
            reals = [sensor.references[name] for name in sensor.real_outputs]
            integers = [sensor.references[name] for name in sensor.integer_outputs]
            row = outputs.last_real_values(index, reals)
            rows.append([*row, *outputs.last_integer_values(index, integers)])
    return results


if __name__ == "__main__":
    main(simulate)
