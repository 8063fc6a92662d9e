"""For all tests."""

import os

pytest_plugins = ["pytester"]

# Inner runs would add themselves to the summary of the job that runs these tests.
os.environ.pop("GITHUB_STEP_SUMMARY", None)
