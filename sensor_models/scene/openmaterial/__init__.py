"""ASAM OpenMATERIAL 3D, versions 1.0 and 1.1: assets, mappings, materials and their tables.

``documents``  JSON of others, read within bounds
``tables``     rows of property tables (``.xompt``), with what cannot be
``materials``  a material (``.xomp``) as numbers, and as a table of a manifest
``asset``      an asset (``.xoma``) with its mapping (``.xomm``) and the mesh beside it, as a world
``texels``     faces by the colours of an assignment texture
``sheets``     single sheets of clear materials as panes
``writing``    materials of ours in this form

Source: ASAM OpenMATERIAL 3D 1.0.0 (2025) and 1.1.0, the schemas and their descriptions.
"""
