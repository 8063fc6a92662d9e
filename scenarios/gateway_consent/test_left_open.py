"""What the gateway's document leaves open, as information: who answers the question."""

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.base.people import form_client_for
from pytest_mcp_approval.families.gateway_consent.people import form_with
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice


@requirement("gateway_consent/consent-required")
def test_the_client_cannot_answer_its_own_question(consents):
    """The client gets the address of the page and nothing else: it opens it and presses the button.
    The document says that the agent guides the user there, not what keeps the agent away."""
    consents.need_answer()
    consents.need_page()
    tool, client = consents.tool, consents.client()
    asked = consents.asked(client, tool)
    button = consents.driver.table.page.button(Choice.TOOL)
    try:
        visitor = form_client_for(consents.target)
        page = visitor.get(asked.consent_url)
        form = form_with(page, button)
        visitor.submit(page, form, form.button(button))
    except DriverError as error:
        raise NotVerified(
            f"the page cannot be answered as a plain form: {error}", minor=True
        ) from (error)
    if consents.is_served(client.call(tool), tool):
        consents.left_open("whoever has consentUrl can answer it, and the client gets it first")
