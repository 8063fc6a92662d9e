"""For a release: makes the links of the READMEs absolute, so that a package index shows them whole,
and tells the package where its repository is.

    python -m tools.absolute_links https://github.com/OWNER/REPOSITORY v0.2.0

In the repository links are relative, since nothing in it knows where it is kept: a fork's pages
lead to the fork. The release workflow runs this in its own checkout, with the address that it has.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath

ROOT = Path(__file__).resolve().parents[1]
READMES = ("README.md", "virtual_authenticator/README.md")
PROJECTS = ("pyproject.toml", "virtual_authenticator/distribution.toml")
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<to>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def absolute(text: str, folder: str, repository: str, tag: str) -> str:
    """The text with every relative link made absolute; pictures lead to the file itself."""

    def replaced(found: re.Match[str]) -> str:
        to, anchor = found["to"], found["anchor"] or ""
        if not to or _ELSEWHERE.match(to):
            return found[0]
        place = normpath(str(PurePosixPath(folder) / to))
        kind = "raw" if found["picture"] else "blob"
        address = f"{repository}/{kind}/{tag}/{place}{anchor}"
        return f"{found['picture']}[{found['text']}]({address})"

    return _LINK.sub(replaced, text)


def relative_links(text: str) -> list[str]:
    """The links that a package index could not follow."""
    links = (found["to"] for found in _LINK.finditer(text))
    return [to for to in links if to and not _ELSEWHERE.match(to)]


def with_urls(project: str, repository: str, tag: str) -> str:
    """A pyproject.toml that says where everything is."""
    urls = {
        "Homepage": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/index.md",
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    lines = "\n".join(f'{name} = "{address}"' for name, address in urls.items())
    return f"{project.rstrip()}\n\n[project.urls]\n{lines}\n"


def main(repository: str, tag: str, root: Path = ROOT) -> None:
    if not re.fullmatch(r"https://[\w.-]+/[\w.-]+/[\w.-]+", repository):
        raise SystemExit(f"got {repository!r}, expected https://HOST/OWNER/REPOSITORY")
    for name in READMES:
        path = root / name
        folder = str(PurePosixPath(name).parent)
        text = absolute(path.read_text(encoding="utf-8"), folder, repository, tag)
        path.write_text(text, encoding="utf-8")
    for name in PROJECTS:
        path = root / name
        path.write_text(
            with_urls(path.read_text(encoding="utf-8"), repository, tag), encoding="utf-8"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
