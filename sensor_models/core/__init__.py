"""What a sensor is made of, whatever it measures: quantities, clock, motion, draws, faults."""
