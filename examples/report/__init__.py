"""The report of the demo: one HTML file with everything that was driven, seen and measured."""
