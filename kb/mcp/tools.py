"""The tools about documents, facts and kernels. Each answers with a view of `kb.views`."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from kb.mcp.advice import target_meant
from kb.mcp.tool import GO_ON, MAX_TOKENS, WRITES, TargetName, Tokens, tool
from kb.types.fact import FactAnswer
from kb.types.kernels import Interface
from kb.types.passages import SearchFilter
from kb.views import documents, facts, hits, prompts, symbols, targets

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

NOTES_TOKENS = 50
"""Enough for the notes beside a prompt."""
WORKSHEET = "kb_worksheet lists what is open, with a topic also passages; kb_propose_facts stores what they state"

CitationId = Annotated[str, Field(max_length=40)]
Phrasings = Annotated[
    list[Annotated[str, Field(max_length=400)]],
    Field(min_length=1, max_length=8, description="The same question in two or three ways; at most 8 of 400 letters."),
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),  # models forget the brackets
]


@tool("Search hardware manuals", cut="use kb_read or a larger max_tokens to get what was left out or cut")
def kb_search(
    kb: "KnowledgeBase",
    phrasings: Phrasings,
    target: Annotated[
        str | None, Field(max_length=100, description="A chip or family; 'all' only for a comparison of chips.")
    ] = None,
    within: Annotated[
        tuple[Annotated[str, Field(max_length=300)], ...],
        Field(max_length=20, description="Search only these documents or folders (parts of their paths)."),
    ] = (),
    *,
    numbers: Annotated[bool, Field(description="Search only tables and passages that state an amount.")] = False,
    page: Annotated[int, Field(ge=1, le=20, description="2 goes on where page 1 stopped; twice as long.")] = 1,
    seen: Annotated[
        tuple[CitationId, ...], Field(max_length=200, description="Ids that you already have, to leave out.")
    ] = (),
) -> hits.Answer:
    """Find the lines of hardware manuals that answer a question about a chip, below the ids to cite.

    Give the same question in two or three phrasings, which finds far more than one: the vendor's terms, bare
    keywords, an exact instruction name. Example: ["avoid LDS bank conflicts", "local data share swizzle",
    "ds_read_b128 bank"]. The likeliest lines come first: ask the same with page=2 for the next, or open an id with
    kb_read. Status "insufficient" means that the documents do not answer. For a single number call kb_facts first.
    """
    only = SearchFilter(within=within, numbers=numbers, seen=frozenset(seen)) if within or numbers or seen else None
    meant = target_meant(kb, target or None)
    found = kb.answers(phrasings, target=meant, only=only, page=page)
    return hits.answer(found, target=meant and kb.targets.name_of(meant))


@tool("Look up an identifier")
def kb_symbol(
    kb: "KnowledgeBase",
    name: Annotated[str, Field(max_length=200, description="As code writes it: nl.load, vadd.vv, EnqueueProgram.")],
    target: TargetName | None = None,
    limit: Annotated[int, Field(ge=1, le=40, description="Most places to return.")] = 15,
) -> symbols.NamedPlaces:
    """Find where a function, instruction, type, register or macro is defined, called and mentioned.

    One line for each place, with its id and the version or date of its document; definitions first, newer documents
    before older ones. The notes say where documents disagree on the signature, and which keywords of a call the
    newest signature lacks: follow the newer document.
    """
    return symbols.named_places(kb.symbol(name, target=target or None, limit=limit))


@tool("Read around a citation", cut=GO_ON)
def kb_read(
    kb: "KnowledgeBase",
    id: Annotated[str, Field(max_length=400, description="An id, ID.2 (its second cell) or PATH:LINE.")],  # noqa: A002 - what every result calls it
    around: Annotated[int, Field(ge=0, le=200, description="Lines to add on both sides.")] = 3,
    offset: Annotated[int, Field(ge=0, description="next_offset of the last answer, to read on.")] = 0,
) -> documents.CitedText:
    """Open a cited passage, table row, cell or fact, with the lines around it in its document.

    Use it to check a citation, for the text around it (raise `around`), or for what kb_search cut or left out.
    """
    return documents.cited(kb, id, around=around, offset=offset)


@tool("Read a document", cut=GO_ON)
def kb_document(
    kb: "KnowledgeBase",
    name: Annotated[str, Field(max_length=400, description="Its path as in `place`, or the end of the path.")],
    section: Annotated[
        str | None, Field(max_length=300, description="A heading, to read its text (default: all headings).")
    ] = None,
    offset: Annotated[int, Field(ge=0, description="next_offset of the last answer, to read on.")] = 0,
) -> documents.DocumentView:
    """List the headings of a document, or read a section whole, with an id to cite for each passage.

    Use it where the answer is longer than a passage: a whole example, a table with its notes, all constraints.
    """
    return documents.document(kb, name, section=section or None, offset=offset)


@tool("Look up hardware facts", cut="name one quantity, or use a larger max_tokens")
def kb_facts(
    kb: "KnowledgeBase",
    target: TargetName,
    quantity: Annotated[
        str | None, Field(max_length=100, description="Such as lds_size or hbm_bandwidth (default: all).")
    ] = None,
    *,
    unconfirmed: Annotated[
        bool, Field(description="Instead list what was read and nobody confirmed, with quotes.")
    ] = False,
) -> facts.Facts:
    """Look up exact hardware numbers of a chip: value, unit, condition, source, place, id to cite.

    Use it for every size, width, bandwidth, latency, peak or limit before you compute with it. Facts of the chip's
    family are included, facts of siblings never. `waiting` counts facts that were read and not confirmed. If no
    document states a number, you get an error with the nearest names; then try kb_search, and never guess.
    """
    if unconfirmed:
        return facts.statements(kb, target, quantity or None, waiting=True)
    held = facts.facts(kb, target, quantity or None)
    waiting = "unconfirmed=true shows what was read and not confirmed: check the quote before you use a value"
    return held.noted(*[waiting] * bool(held.waiting), *[WORKSHEET] * (not held.facts))


@tool("See what is known of a chip", cut="name a topic, or use a larger max_tokens")
def kb_worksheet(
    kb: "KnowledgeBase",
    target: TargetName,
    topic: Annotated[
        str | None, Field(max_length=40, description="Such as memory: adds passages for its open questions.")
    ] = None,
) -> facts.Worksheet:
    """Show what a kernel's author needs to know of a chip: what holds, what waits to be confirmed, what is open.

    To fill it, call it with one topic after another, read the passages, and send what they state to
    kb_propose_facts.
    """
    return facts.questions(kb, target, topic=topic) if topic else facts.worksheet(kb, target).noted(WORKSHEET)


@tool("Propose facts that you read", WRITES)
def kb_propose_facts(
    kb: "KnowledgeBase",
    target: TargetName,
    answers: Annotated[
        list[FactAnswer], Field(min_length=1, max_length=40, description="Facts of the hardware, with quotes.")
    ],
) -> facts.AnsweredFacts:
    """Store hardware facts that you read in the documents, for the user to confirm; they do not hold before.

    A fact is stored if the words of its quote stand in a document of the chip and state the value; the unit may
    stand in a header or heading. Values of one quantity that contradict each other need conditions that tell them
    apart. Leave out what the text does not say, and what one program uses or an example shows.
    """
    done = facts.answer(kb, target, answers)
    own = done.target
    stored = f"stored, but not held: the user confirms with `kb facts accept ID` or `kb facts accept --all {own}`"
    refused = "for what was refused, quote the words that state the value, as kb_read shows them"
    return done.noted(*[stored] * bool(done.stored), *[refused] * bool(done.refused))


@tool("Get the prompt for a kernel", tokens=None, cut="kb_search and kb_facts find what is left out")
def kb_prompt(
    kb: "KnowledgeBase",
    task: Annotated[
        str, Field(max_length=40_000, description="Python with Model, get_inputs and get_init_inputs (KernelBench).")
    ],
    name: Annotated[str, Field(max_length=60, description="The operation, such as softmax.")],
    interface: Annotated[Interface, Field(description="The tensors of the task: kb does not run it.")],
    target: TargetName,
    language: Annotated[
        str | None, Field(max_length=40, description="Such as triton or cpp (default: the usual one of the chip).")
    ] = None,
    max_tokens: Tokens = MAX_TOKENS,
) -> prompts.PromptView:
    """Get what matters for one kernel on one chip: contract, facts, passages and skills, cited.

    Starts no run and judges nothing: kb_start_run does, or `kb prompt FILE --target TARGET` in a shell.
    """
    budget = max_tokens - NOTES_TOKENS
    prompt = prompts.draft_prompt(kb, task, name, interface, target, language or None, max_tokens=budget)
    return prompt.noted("no run was started: kb_start_run starts one, or `kb prompt FILE --target TARGET` in a shell")


@tool("List chips")
def kb_targets(
    kb: "KnowledgeBase",
    *,
    everything: Annotated[bool, Field(description="Also list targets that have no documents.")] = False,
) -> targets.KnownTargets:
    """List the chips and families that have documents: name, aliases, parent, number of documents.

    Call it once, if you do not know the name of a chip here or whether it has documents. A question about a target
    also uses documents of its ancestors and descendants.
    """
    return targets.targets(kb, everything=everything)
