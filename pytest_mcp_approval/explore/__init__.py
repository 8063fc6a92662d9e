"""Exploration: walks that nobody listed, invented by Hypothesis over a family's model.

`walk` runs one again. Everything that needs Hypothesis (the extra `explore`) is in modules that are
imported when they are used.
"""

from .findings import run_walk as run_walk
