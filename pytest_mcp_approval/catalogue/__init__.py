"""The requirements as data: what each rule is called, where it stands, and what became of it."""

from ..config.registry import families
from .requirements import Catalogue, Requirement, UnknownRequirementError, catalogue
from .verdicts import Finding, Grade, NotApplicable, NotVerified, Verdict, may_poison, requirement

__all__ = [
    "Catalogue",
    "Finding",
    "Grade",
    "NotApplicable",
    "NotVerified",
    "Requirement",
    "UnknownRequirementError",
    "Verdict",
    "catalogue",
    "families",
    "may_poison",
    "requirement",
]
