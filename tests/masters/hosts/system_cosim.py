"""libcosim with a packed system, in the steps that the package asks for."""

from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimObserver import CosimObserver

from tests.masters.hosts.system_task import Outputs, SystemRows, SystemTask, main


def row_of(observer: CosimObserver, index: int, outputs: Outputs) -> list[float]:
    read = {
        "Real": observer.last_real_values,
        "Integer": observer.last_integer_values,
        "Boolean": observer.last_boolean_values,
    }
    wanted = {kind: references for kind, references in outputs.references.items() if references}
    return [value for kind in wanted for value in read[kind](index, wanted[kind])]


def simulate(task: SystemTask) -> SystemRows:
    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(task.ssp)
    observer = CosimObserver.create_last_value()
    assert execution.add_observer(observer)
    indices = {slave.name.decode(): slave.index for slave in execution.slave_infos()}
    assert indices.keys() == task.parts.keys()
    rows = []
    for _ in range(task.steps):
        assert execution.step()
        rows.append({n: row_of(observer, indices[n], task.parts[n]) for n in task.parts})
    return rows


if __name__ == "__main__":
    main(simulate)
