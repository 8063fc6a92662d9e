"""What the gateway keeps in the operating system's key store, by the names of its entries."""

import json

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.scanning import find
from pytest_mcp_approval.families.gateway_consent.vocabulary import KEY_STORE_SERVICE, Choice

# ---- key-store

ONE_OF_EACH = ("key-header", "cookie", "office", "oauth")


@requirement("gateway_consent/key-store")
def test_a_credential_is_in_the_systems_key_store(consents):
    """An entry of the app's comes with its authorisation, at the place that the document names."""
    apps = consents.with_apps(stored="trial")
    with apps.several() as several:
        for app in apps.each_app(*ONE_OF_EACH):
            with several.one(app):
                _credential_is_in_the_systems_key_store(apps, app)


def _credential_is_in_the_systems_key_store(apps, app):
    tool, client = apps.app_tool(app), apps.client()
    apps.needing(client, tool)  # the consent, which may be there as well
    before = apps.driver.key_store().count(tool.app)
    apps.let_in(client, tool)
    kept = apps.driver.key_store()
    sent = f"{tool.name}, authorised ({apps.double.ways()[app]})"
    apps.expect(
        kept.count(tool.app) > before,
        sent=sent,
        expected=f"one more entry for {tool.app} in the system's key store",
        got=f"entries {shown(kept, 160)}",
    )
    hits = find(kept.encode(), apps.double.secrets(), "a name")
    apps.expect(
        not hits,
        sent=sent,
        expected="nothing of it in clear in any name",
        got="; ".join(sorted({str(hit) for hit in hits})[:4]),
    )
    # Keychain, Credential Manager, libsecret: the last has the app's id as an attribute.
    places = (f"cred-{tool.app}", f"{KEY_STORE_SERVICE}/cred/{tool.app}", '"appId"')
    if KEY_STORE_SERVICE not in kept or not any(one in kept for one in places):
        apps.warn(f"{sent}: entries {shown(kept, 120)}; the document has {places[0]} or the like")


# ---- consent-key-store


@requirement("gateway_consent/consent-key-store")
def test_a_decision_is_in_the_systems_key_store(consents):
    """Granted, granted for all tools, denied: each remembered decision brings an entry, of a caller
    and an app that had none.

    Reading: the document nests all decisions in one object as well, so one entry for all of them,
    which comes with the first or was there before, is a warning.
    """
    kept = consents
    if consents.driver.table.storage_setting:
        kept = consents.with_descriptors([], stored="trial")
    tool, came, names = kept.tool, {}, kept.driver.key_store()
    for choice in Choice:
        client = kept.client(f"Decided {choice}")
        _decided_and_followed(kept, client, tool, choice)
        before, names = names, kept.driver.key_store()
        came[choice] = names != before
    first, *others = came.values()
    sent = f"{tool.name}, decided on for three clients, and remembered"
    one_for_all = not any(others) and (first or "consent" in names)
    missing = [str(choice) for choice, new in came.items() if not new]
    if not any(came.values()) and not one_for_all and _has_entries(json.loads(names)):
        raise NotVerified(
            f"no decision brought an entry of its own: {shown(names, 120)}; whether one of these "
            "holds them cannot be seen"
        )
    kept.expect(
        one_for_all or not missing,
        sent=sent,
        expected="an entry for each decision in the system's key store",
        got=f"none for {', '.join(missing)}; entries {shown(names, 160)}",
    )
    place = f"consent-<callerName>-{tool.app}"
    if one_for_all or tool.app not in names or KEY_STORE_SERVICE not in names:
        kept.warn(f"{sent}: entries {shown(names, 120)}; the document has {place}")


def _has_entries(value):
    """Whether it names anything at all."""
    if isinstance(value, dict):
        return any(map(_has_entries, value.values()))
    return any(map(_has_entries, value)) if isinstance(value, list) else bool(value)


def _decided_and_followed(consents, client, tool, choice):
    """The positive twin: what was decided is what comes of the next call."""
    consents.decided(client, tool, choice)
    answer = client.call(tool)
    if choice is Choice.DENY:
        consents.expect_not_run(answer, sent=f"{tool.name}, denied")
    else:
        consents.expect_served(answer, tool, sent=f"{tool.name}, allowed ({choice})")
