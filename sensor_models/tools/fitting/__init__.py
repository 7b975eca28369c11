"""From recorded data to a preset: each number with its interval, and what the data cannot tell.

``tables``       columns of CSV and Parquet files, of logs and bags (``bags``), of our own records
``frames``       pictures and clouds, one file a frame, and the targets that they show (``targets``)
``likelihood``   the largest value of a likelihood, and intervals from its profile
``slow_noise``   the likelihood of white noise, flicker noise and drifts in one long record
``steps``        the step of values that are whole multiples of one
``imu``, ``ccd``, ``lidar``, ``depth``, ``gnss``, ``encoder``   one kind of sensor each
``estimates``    what all of them return
``writing``      a preset of it, ``comparing`` it with a preset

Every interval is one of 95 %: repeated on new data of the same device, that share of them holds the
true value, if the model that the estimate is of is true.
"""
