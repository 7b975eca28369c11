"""Data sets: samples of any set of seeing sensors from places and scenes drawn by rule.

``description``  what is drawn and seen, read from TOML
``draws``        the scene and the pose of a sample, by its number alone
``sensing``      what each kind of sensor gives
``boxes``        labelled entities: boxes in 2D and 3D, masks, visibility
``shards``       files
``dataset``      all of it, by the workers of a pool
"""
