"""The report of the demo: one HTML file with all that was driven, seen and measured."""
