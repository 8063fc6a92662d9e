"""The android-key format (WebAuthn Level 3, section 8.4): a certificate that Android's keystore
makes for the credential's own key, with what it knows of the key in an extension.

The extension is KeyDescription (source.android.com, "Key and ID attestation", schema). The
signature is the credential's own: the certificate is what a relying party trusts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..hardware import AndroidKeystore

if TYPE_CHECKING:
    from . import AttestationInput

KEY_DESCRIPTION = "1.3.6.1.4.1.11129.2.1.17"


def statement(given: AttestationInput) -> dict[str, Any]:
    identity, credential = given.identity("android-key"), given.credential
    keystore = identity.hardware
    assert isinstance(keystore, AndroidKeystore)
    leaf = identity.issue(
        credential.key.public_key(),
        KEY_DESCRIPTION,
        keystore.key_description(given.client_data_hash),
    )
    return {
        "alg": credential.algorithm.identifier,
        "sig": given.sign_with_credential(),
        "x5c": [leaf, *identity.certificates],
    }
