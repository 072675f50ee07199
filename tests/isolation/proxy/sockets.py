"""What tests of sockets share."""


def rest(s):
    """All bytes up to the end; a reset is told as one."""
    got = b""
    try:
        while more := s.recv(65536):
            got += more
    except ConnectionResetError:
        return got + b"(reset)"
    return got
