"""Which pages are the server's own."""

import pytest

from services.gateway.origins import is_own


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://localhost:8080", "127.0.0.1:8080", True),
        ("http://127.0.0.1:8080", "localhost:8080", True),
        ("http://[::1]:8080", "localhost:8080", True),
        ("http://localhost", "127.0.0.1:80", True),
        ("https://talks.example", "talks.example", True),
        ("http://localhost:3000", "localhost:8080", False),
        ("http://localhost:8080", "talks.example:8080", False),
        ("http://localhost.evil.example:8080", "localhost:8080", False),
        ("https://evil.example", "talks.example", False),
        ("null", "localhost:8080", False),
        ("http://localhost:none", "localhost:8080", False),
        ("http://localhost:8080", "", False),
    ],
)
def test_a_page_is_the_servers_own_by_name_and_port(origin: str, host: str, own: bool):
    """Same host and port; the names of the loopback stand for each other, nothing else does."""
    assert is_own(origin, host) is own
