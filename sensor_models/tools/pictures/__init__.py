"""What people look at: the command lines, and the drawing behind them. No FMU carries it."""
