"""Opens the socket that a server listens on, or says in one line why not. Called by the gateway and the stack."""

import errno
import socket


class CannotListen(Exception):
    """The address is taken, or is none of this machine's; the text says which and what to do."""


def listening(host: str, port: int) -> socket.socket:
    """Return a bound TCP socket; port 0 takes any free one. CannotListen when there is none to be had."""
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"there is no host {host!r}: use the name or address of this machine") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise CannotListen(_reason(host, port, error)) from error
    return bound


def _reason(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is taken ({error.strerror}): stop what listens there, or use --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine: use another --host"
    return f"cannot listen on port {port} of {host}: {error.strerror}"
