"""Messages that other tools read: OSI in memory, Foxglove and ROS 2 in logs, raw packets.

``wire`` and ``cdr`` write the formats that messages are made of, with NumPy alone: a host may have
another version of a package for them. What a frame or a sample becomes is said once for each kind
of message (``osi``, ``foxglove``, ``ros``, ``ouster``); how a log is kept is in ``log``.
"""
