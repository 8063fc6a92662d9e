"""The requirements as data: each rule's id, its place in the document, and its verdict."""

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
