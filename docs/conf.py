"""Sphinx reads this: the site is made of the Markdown files in this folder (`make docs`)."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads(
    (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]

project = str(_PROJECT["name"])
author = str(_PROJECT["authors"][0]["name"])
project_copyright = author
version = release = str(_PROJECT["version"])
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
# The source is the whole checkout, so that links lead from these pages to examples and back.
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "examples/*/README.md",
    "benchmarks/results/*.md",
]
exclude_patterns = [".*", "build", "dist", "tests", "**/node_modules", "**/__pycache__"]
nitpicky = True

# Anchors as a repository's pages have them, so that one link works in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"{project} {version}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
# Some outputs of programs are shown in blocks without a language.
highlight_language = "text"
