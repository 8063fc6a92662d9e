"""The reference gateway: tools of apps, behind a person's consent and the app's authorisation."""
