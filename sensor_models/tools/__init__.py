"""Tools around the models, part of no FMU: pictures, data sets, the quick caster, workers."""
