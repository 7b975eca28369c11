"""``sensor-fmus validate``: the FMUs against what was measured and published.

A *row* (``validation/*.toml``, ``rows``) is one published measurement: its source, its set-up, its
numbers with a tolerance, and how it is simulated: an FMU with a preset or parameters in a scene.
Each row is run through the FMU (``running``), a named method makes numbers of what the FMU wrote
(``methods``), and these are compared (``judging``) with the published ones. Where there is a
distribution, the Double Validation Metric says how far the two are apart (``metric``).

``page``      all rows as one HTML file, with pictures
``results``   the last results as a text file, which is kept with the project
``card``      what an FMU carries of these results
``sheets``    the presets: what a data sheet says, what the FMU gives
``command``   the command line
"""
