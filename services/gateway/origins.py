"""Whether a browser's page is the server's own. Pure; called where a live socket is opened."""

from urllib.parse import SplitResult, urlsplit

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def is_own(origin: str, host: str) -> bool:
    """Say whether a page of ``origin`` comes from the server that was called as ``host``.

    The names of the loopback are one: who opens localhost may be led to 127.0.0.1, and neither leaves the machine.
    """
    page, here = _split(origin), _split(f"//{host}")
    if page is None or here is None:
        return False
    if page.netloc == here.netloc:
        return True
    names = {page.hostname, here.hostname}
    return names <= LOOPBACK and _port(page, page.scheme) == _port(here, page.scheme)


def _split(text: str) -> SplitResult | None:
    try:
        found = urlsplit(text)
        _port(found, "")
    except ValueError:
        return None
    return found if found.netloc else None


def _port(address: SplitResult, scheme: str) -> int | None:
    return address.port or {"http": 80, "https": 443}.get(scheme)
