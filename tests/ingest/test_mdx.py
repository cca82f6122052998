"""MDX is read as Markdown: without modules and tags of components, with all that stands between them."""

from pathlib import Path

import pytest

from ingest.builder import ParsedDocument
from ingest.readers import format_of, read
from tests.ingest.documents import show

PAGE = """---
title: Tile memory
---
import Tabs from '@theme/Tabs';
import {
  A,
} from '../x';

export const unit = 'KiB';
export const table = [
  {a: 1},

  {b: "}"},
];

export default ({children}) => (
  <Layout>{children}</Layout>
);

# Memory {/* not
shown */}

<Tabs groupId="x">
  <TabItem value="h" label="H100">

    It has 96 {unit}.

    ```c
    int x = a<B>(y); // <Note>
    ```

    | Access | Cycles |
    |---|---|
    | read | 4 |

  </TabItem>
</Tabs>

<Chart
  data={[{x: 1 > 0}, {y: "}>"}]}
/>

<Note>See `<Kept>` and **bold**.</Note>
<>
- one
</>
"""
SHOWN = """20 heading §Memory: # Memory
24 text §Memory: H100
26 text §Memory: It has 96 KiB.
28 code §Memory: ```c
29 code §Memory: int x = a<B>(y); // <Note>
29 code §Memory: ```
32 table §Memory: | Access | Cycles |
32 table §Memory: |---|---|
34 table §Memory: | read | 4 |
43 text §Memory: See `<Kept>` and bold.
45 item §Memory: - one"""


def parsed(name: str, text: str) -> ParsedDocument:
    return read(Path("/docs") / name, text.encode(), root=Path("/docs"))


@pytest.mark.parametrize("name", ["memory.mdx", "memory.md"])
def test_mdx_becomes_markdown_with_its_lines_whatever_its_suffix(name: str) -> None:
    document = parsed(name, PAGE)

    assert show(document) == SHOWN
    assert (document.metadata, document.warnings) == ({"title": "Tile memory"}, ())


def test_a_component_that_is_markdown_is_included(tmp_path: Path) -> None:
    (tmp_path / "_part.mdx").write_text("<Note>It has 8 banks.</Note>\n", encoding="utf-8")
    page = "import Part from './_part.mdx';\nimport Gone from '@site/gone.mdx';\n\n# A\n\n<Part />\n\n<Gone x={1} />\n"

    document = read(tmp_path / "a.mdx", page.encode(), root=tmp_path)

    assert "It has 8 banks." in document.text
    assert document.warnings == ("line 8: include of /gone.mdx: is not a file inside the ingested folder",)


def test_an_expression_that_is_unknown_stays_with_a_warning() -> None:
    document = parsed("a.mdx", "# A\n\nIt has {props.size} of memory and {size} banks.\n")

    assert "{props.size}" in document.text
    assert document.warnings == ("line 3: the macro {props.size} is not expanded, nor are 1 more",)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\nimport the tables first, then export <T> them.\n",
        "# A\n\n```js\nimport X from 'x';\n```\n\nA list<T> of {names}.\n",
        "# A\n\nIt is 1 < 2 and {a: 1}.\n",
    ],
)
def test_markdown_without_modules_is_no_mdx(text: str) -> None:
    assert parsed("a.md", text).text == parsed("a.markdown", text).text
    assert "{" in parsed("a.md", text).text or "export" in parsed("a.md", text).text


@pytest.mark.parametrize(
    "text", ["<A", "<A b={", "{/*", "export const", "import {", "```\n<A>", "<A>" * 3000, "{" * 9999]
)
def test_unfinished_mdx_is_read(text: str) -> None:
    assert format_of(Path("a.mdx")) == "markdown"
    parsed("a.mdx", f"# A\n\nword\n\n{text}\n")
