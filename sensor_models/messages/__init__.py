"""Messages that other tools read: OSI in memory, Foxglove and ROS 2 in logs, raw packets.

``wire`` writes Protocol Buffers and ``ros`` CDR with nothing but NumPy, because a host may have
another version of a package for them. One module for each kind of message says what a frame or a
sample becomes (``osi``, ``foxglove``, ``ros``, ``ouster``); logs are written by ``log``.
"""
