"""Which credential answers a request: the one that a client takes, or why one that the test picked
may not. Knows nothing of persons and pages.
"""

from __future__ import annotations

from .client_rules import Rule
from .credentials import Credential, CredentialStore


def choose(
    store: CredentialStore,
    rp_id: str,
    allow: list[str] | None,
    verified: bool,
    ignoring: frozenset[Rule],
) -> Credential | None:
    """The first allowed credential that is here, or the newest discoverable one."""
    for credential_id in allow or ():
        held = store.by_encoded_id.get(credential_id)
        if held is None or (held.rp_id != rp_id and not held.belongs_to(rp_id)):
            continue
        if verified or held.protection < 3:
            return held
    if allow and Rule.ALLOW_CREDENTIALS not in ignoring:
        return None
    newest = store.newest_for(rp_id)
    if newest is None or verified or newest.protection == 1:
        return newest
    return next((held for held in store.discoverable_for(rp_id) if held.protection == 1), None)


def why_not(
    credential: Credential,
    rp_id: str,
    allow: list[str] | None,
    verified: bool,
    ignoring: frozenset[Rule],
) -> str | None:
    """Why a page may not use a credential; None if it may."""
    if not credential.belongs_to(rp_id) and Rule.RP_ID not in ignoring:
        return f"the credential is for {credential.rp_id!r}, not for {rp_id!r}"
    if not verified and credential.protection > (2 if allow else 1):
        return "the credential's protection asks for user verification"
    if Rule.ALLOW_CREDENTIALS in ignoring:
        return None
    if allow and credential.encoded_id not in allow:
        return "the credential is not among allowCredentials"
    if not allow and not credential.discoverable:
        return "the credential is not discoverable: allowCredentials must name it"
    return None


def name_of(credential: Credential, rp_id: str, app_id: str | None) -> str:
    """The AppID, if that is the one of the two by which a credential knows the relying party."""
    if app_id is None or credential.belongs_to(rp_id) or not credential.belongs_to(app_id):
        return rp_id
    return app_id
