"""Broken pages: the reference server's own, with one line of one file changed as it is served."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.registry import having, mutant


class BrokenPage(Sep2672Extension):
    """Serves `instead` in place of `line`, which has to be there once."""

    file: str
    line: str
    instead: str

    def page_file(self, name: str, content: bytes) -> bytes:
        if name != self.file:
            return content
        text = content.decode("utf-8")
        assert text.count(self.line) == 1, f"{name} has changed: expected {self.line!r} once"
        return text.replace(self.line, self.instead).encode("utf-8")


# ---- section 4.2


@mutant(kills="sep2672/4.2-client-ignores-unannotated", because="approval/challenge/create")
class OpensACeremonyForEveryTool(BrokenPage):
    """The page asks for a challenge whatever tool it is."""

    file = "ceremony.js"
    line = "if (!tool.approval) {"
    instead = "if (false) {"


@mutant(kills="sep2672/4.2-client-ignores-unannotated", because="with evidence")
class SendsEvidenceAlongAnyway(BrokenPage):
    """The page sends evidence to tools that ask for none."""

    file = "ceremony.js"
    line = "{ name: tool.name, arguments: JSON.parse(text) });\n  }"
    instead = "{ name: tool.name, arguments: JSON.parse(text), _meta: { [META_KEY]: {} } });\n  }"


@mutant(
    kills="sep2672/4.2-client-tolerates-siblings",
    because="annotation has .'x-note'[^§]*nothing to approve",
)
class WantsAnAnnotationOfItsOwnShape(BrokenPage):
    """The page takes an annotation with further members for none that it can serve."""

    file = "ceremony.js"
    line = "if (!isEnvelope(envelope)"
    instead = "if (tool.approval.strange || !isEnvelope(envelope)"

    def page_file(self, name: str, content: bytes) -> bytes:
        if name == "tools.js":
            line = b"const said = meta[META_KEY] ?? {};"
            given = b"return { class: CLASSES"
            assert content.count(line) == content.count(given) == 1
            known = b'["required", "authenticatorClass"]'
            strange = (
                b"const strange = Object.keys(said).some((one) => !" + known + b".includes(one));"
            )
            content = content.replace(line, line + strange)
            return content.replace(given, b"return { strange, class: CLASSES")
        return super().page_file(name, content)


@mutant(kills="sep2672/4.2-client-class-default", because="names no class[^§]*got nothing for")
class TakesAToolWithoutAClassForAPlainOne(BrokenPage):
    """The page takes a tool whose annotation names no class for one that needs no approval."""

    file = "tools.js"
    line = "  const oddities = [];"
    instead = "  if (given === undefined) return undefined;\n  const oddities = [];"


# ---- section 4.3


@mutant(
    kills="sep2672/4.3-client-tolerates-subfields",
    because="capability has .'version'[^§]*nothing to approve",
)
class WantsAnEmptyCapability(BrokenPage):
    """The page calls nothing on a server whose capability is not {}."""

    file = "ceremony.js"
    line = "  const envelope = await connection.request("
    instead = (
        "  const { capabilities } = await connection.open();\n"
        "  if (Object.keys(capabilities.extensions?.verifiedApproval ?? {}).length) "
        'throw new NoChallenge("capability");\n'
        "  const envelope = await connection.request("
    )


@mutant(kills="sep2672/4.3-client-warns-inconsistent", because="neither")
class SaysNothingOfAnInconsistency(BrokenPage):
    """The page takes gated tools without the capability for granted."""

    file = "tools.js"
    line = "if (gated.length && !declared) {"
    instead = "if (false) {"


# ---- section 4.4.3


class AltersTheText(BrokenPage):
    """Changes displayText on its way to the screen."""

    file = "review.js"
    line = "text.textContent = envelope.displayText;"

    def __init_subclass__(cls, change: str = "", **more: object) -> None:
        super().__init_subclass__(**more)
        cls.instead = f"text.textContent = envelope.displayText{change};"


VERBATIM = "sep2672/4.4.3-client-verbatim"


@mutant(kills=VERBATIM, because="80 characters, without what follows")
class CutsTheText(AltersTheText, change=".slice(0, 80)"):
    """The page shows the first 80 characters of displayText."""


@mutant(kills=VERBATIM, because="markup[^§]*characters, from number")
class StripsMarkup(AltersTheText, change='.replace(/<[^>]*>/g, "")'):
    """The page takes what looks like markup out of displayText."""


@mutant(kills=VERBATIM, because="markup[^§]*characters, from number")
class DecodesEntities(AltersTheText, change='.replaceAll("&amp;", "&").replaceAll("&lt;", "<")'):
    """The page resolves character references in displayText."""


@mutant(kills=VERBATIM, because="right to left[^§]*characters, from number")
class TakesBidiControlsAway(
    AltersTheText, change='.replace(/[\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/g, "")'
):
    """The page takes bidi characters out of displayText."""


@mutant(kills=VERBATIM, because="not composed[^§]*characters, from number")
class NormalisesTheText(AltersTheText, change='.normalize("NFC")'):
    """The page normalises displayText."""


@mutant(kills=VERBATIM, because="blanks around it[^§]*characters, from number")
class TrimsTheText(AltersTheText, change=".trim()"):
    """The page takes white space off the ends of displayText."""


@mutant(kills=VERBATIM, because="longer than a screen[^§]*cut off at an edge")
class HidesTheEnd(BrokenPage):
    """The text's box hides what does not fit."""

    file = "review.js"
    line = "text.scrollTop = 0;"
    instead = 'text.style.overflow = "hidden"; text.style.maxHeight = "8rem";'


@mutant(kills=VERBATIM, because="characters, from number")
class ShoutsTheText(BrokenPage):
    """The page shows displayText in capital letters."""

    file = "review.js"
    line = "text.scrollTop = 0;"
    instead = 'text.style.textTransform = "uppercase";'


@mutant(kills=VERBATIM, because="Second: delete everything[^§]*from number 1 on")
class KeepsTheFirstText(BrokenPage):
    """The page shows the text of the first challenge for all."""

    file = "review.js"
    line = "text.textContent = envelope.displayText;"
    instead = "text.textContent = globalThis.first ??= envelope.displayText;"


# ---- section 4.5

EVIDENCE = "sep2672/4.5-client-attaches-evidence"


@mutant(kills=EVIDENCE, because="another response.(authenticatorAttachment|clientExtensionResults)")
class DropsMembersOfTheResponse(BrokenPage):
    """The page sends the members of the response that it knows."""

    file = "ceremony.js"
    line = "challengeId: envelope.challengeId, response };"
    instead = (
        "challengeId: envelope.challengeId, response: { id: response.id, rawId: response.rawId, "
        "type: response.type, response: response.response } };"
    )


@mutant(kills=EVIDENCE, because="response.response.userHandle")
class DropsTheUserHandle(BrokenPage):
    """The page leaves the user handle out."""

    file = "ceremony.js"
    line = "  spent.add(envelope.challengeId);"
    instead = "  delete response.response.userHandle;\n  spent.add(envelope.challengeId);"


@mutant(kills=EVIDENCE, because="'None' under that key")
class PutsEvidenceUnderTheBareKey(BrokenPage):
    """The page puts evidence under _meta.verifiedApproval."""

    file = "ceremony.js"
    line = "_meta: { [META_KEY]: evidence }"
    instead = "_meta: { verifiedApproval: evidence }"


@mutant(kills="sep2672/4.5-client-never-reuses", because="on 2 of them")
class TriesAgainWithTheSameChallenge(BrokenPage):
    """The page sends a call that failed once more."""

    file = "ceremony.js"
    line = '  return connection.request("tools/call", params, { once: true });'
    instead = (
        '  return connection.request("tools/call", params)'
        '.catch(() => connection.request("tools/call", params));'
    )


# ---- section 4.6


class ChangesTheArguments(BrokenPage):
    """Calls with other arguments than it had approved."""

    file = "ceremony.js"
    line = "arguments: JSON.parse(text), _meta: { [META_KEY]: evidence }"
    changed: str

    def __init_subclass__(cls, changed: str = "", **more: object) -> None:
        super().__init_subclass__(**more)
        cls.instead = f"arguments: {changed}, _meta: {{ [META_KEY]: evidence }}"


SAME = "sep2672/4.6-client-same-arguments"


@mutant(kills=SAME, because="a tools/call with [^§]*confirmed")
class FillsInADefault(ChangesTheArguments, changed="{ confirmed: true, ...JSON.parse(text) }"):
    """The page adds a member with its default after the approval."""


@mutant(kills=SAME, because=r'got[^§]*: ?"[0-9]|a tools/call with \{[^§]*: ?"[0-9]+"')
class SendsNumbersAsText(
    ChangesTheArguments,
    changed='JSON.parse(text, (_, one) => (typeof one === "number" ? String(one) : one))',
):
    """The page sends what a form holds: texts."""


# ---- section 4.9


@mutant(kills="sep2672/4.9-client-challenge-first", because="tools/call, approval/challenge/create")
class TriesWithoutEvidenceFirst(BrokenPage):
    """The page calls the tool, and asks for a challenge when that is refused."""

    file = "ceremony.js"
    line = "  const envelope = await connection.request("
    instead = (
        '  await connection.request("tools/call", { name: tool.name, arguments: JSON.parse(text) })'
        ".catch(() => {});\n  const envelope = await connection.request("
    )


REVIEW = "sep2672/4.9-client-review-before-assertion"


@mutant(kills=REVIEW, because="navigator.credentials.get was called")
class AssertsWhileThePersonReads(BrokenPage):
    """The page asks for the passkey as soon as the text is there."""

    file = "review.js"
    line = "    dialog.showModal();"
    instead = "    dialog.showModal(); approve();"


@mutant(kills=REVIEW, because="declines on the page[^§]*credentials.get was called")
class TakesNoForYes(BrokenPage):
    """The page goes on when the person declines."""

    file = "review.js"
    line = 'byId("decline").addEventListener("click", leave, whileOpen);'
    instead = 'byId("decline").addEventListener("click", approve, whileOpen);'


@mutant(kills="sep2672/4.9-client-surfaces-errors", because="as for ")
class HasOneMessageForAll(BrokenPage):
    """The page says of every refusal that something went wrong."""

    file = "reasons.js"
    line = "  if (error instanceof RpcError) return refused(error);"
    instead = '  if (error instanceof RpcError) return words("refused", ["Refused", ""], "");'


@mutant(
    kills="sep2672/4.9-client-surfaces-errors",
    because=r"refusal for no_pending_enrollment[^§]*'!No passkey Try again later\.'",
)
class ExplainsCallsOnly(BrokenPage):
    """The page has one message for every enrolment that is refused."""

    file = "passkeys.js"
    line = '    outcome = explain(error, "create");'
    instead = '    outcome = { kind: "failed", title: "No passkey", text: "Try again later." };'


# ---- section 4.10

BY_REASON = "sep2672/4.10-client-by-reason"
REASON_ONLY = "sep2672/4.10-client-needs-reason-only"


class ReadsErrorsInItsOwnWay(BrokenPage):
    """Finds a refusal's reason in its own way."""

    file = "reasons.js"
    line = (
        '  const reason = error.data !== null && typeof error.data === "object" '
        "? error.data.reason : undefined;"
    )
    reading: str

    def __init_subclass__(cls, reading: str = "", **more: object) -> None:
        super().__init_subclass__(**more)
        cls.instead = f"  const reason = {reading};"


@mutant(
    kills=BY_REASON,
    because="a message that names another reason[^§]*'✕The server does not know this request ",
)
class ReadsTheMessage(
    ReadsErrorsInItsOwnWay,
    reading="Object.keys(REASONS).find((one) => error.message.includes(one)) ?? error.data?.reason",
):
    """The page looks for a reason's name in the message first."""


@mutant(
    kills=REASON_ONLY,
    because="members that say something else[^§]*'✕The approval did not arrive The call r",
)
class TakesAnotherMember(ReadsErrorsInItsOwnWay, reading="error.data?.code ?? error.data?.reason"):
    """The page takes another member of data for the reason, where there is one."""


@mutant(
    kills=REASON_ONLY, because='with unknown members[^§]*"✕The server refused It gives no reason '
)
class WantsNothingUnknown(
    ReadsErrorsInItsOwnWay,
    reading="Object.keys(error.data ?? {}).length === 1 ? error.data.reason : undefined",
):
    """The page ignores data that has more than the reason."""


# ---- no rule's own mutant: for scenarios of a server's rules, which a page can spoil too


class GoesOnAfterARefusal(BrokenPage):
    """Calls the tool when the passkey's prompt was declined."""

    file = "review.js"
    line = "        end(reject, error);"
    instead = "        end(resolve, {});"


def goes_on_after_a_refusal(**options: Any) -> ReferenceServer:
    return having(GoesOnAfterARefusal, options)


goes_on_after_a_refusal.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
