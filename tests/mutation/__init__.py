"""Mechanical mutants: the reference's own lines broken one by one, and who notices.

    make mutation MUTATION_ARGS="--family sep2672 --sample 200 --seed 1"

The mutants of tests/mutants are written from what real implementations do. These are made by a
machine, which knows no document and has no idea what the scenarios look for.
"""
