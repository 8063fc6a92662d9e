"""Three verifiers with one command line: `verify.py`, `verify.sh` and `verify.mjs`."""
