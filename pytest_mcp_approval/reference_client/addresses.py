"""What a person should know about a URL before it is opened. Fetches nothing."""

from __future__ import annotations

from urllib.parse import urlsplit

OPENED = ("https", "http")
"""The schemes that are opened; anything else may start a program."""


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def can_be_opened(url: str) -> bool:
    return url.partition(":")[0].lower() in OPENED and bool(host_of(url))


def warnings_about(url: str) -> list[str]:
    """Why this address may not be what it seems."""
    found = []
    host = host_of(url)
    try:
        with_user = "@" in urlsplit(url).netloc
    except ValueError:
        with_user = "@" in url
    if not can_be_opened(url):
        found.append("this is no web address; it will not be opened")
    if with_user:
        found.append(f"what stands before the @ is not the host: the host is {host}")
    if any(label.startswith("xn--") for label in host.split(".")) or not host.isascii():
        found.append("the host has letters of other alphabets, which may look like usual ones")
    if url.partition(":")[0].lower() == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        found.append("the connection is not encrypted")
    return found
