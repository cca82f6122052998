"""The server as a host starts it: a process that speaks the protocol on standard output and nothing else."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp.conftest import ERAS, KERNEL, Reply, cited

MODULES_AFTER_EACH_TOOL = """
import anyio, json, sys
from kb.cli.output import open_kb
from kb.mcp.server import Home, all_tools, server

async def main():
    home = Home(open_kb)
    tools = server(dict.fromkeys(all_tools(), home))
    greeted = sorted(sys.modules)
    await tools.call_tool("kb_targets", {})
    found = await tools.call_tool("kb_search", {"phrasings": ["local data share"], "target": "mi210"})
    await tools.call_tool("kb_read", {"id": found.structured_content["text"][1:13]})
    await tools.call_tool("kb_facts", {"target": "mi210"})
    await tools.call_tool("kb_worksheet", {"target": "mi210", "topic": "memory"})
    await tools.call_tool("kb_prompt", json.loads(sys.argv[1]))
    home.close()
    print(json.dumps([greeted, sorted(sys.modules)]))

anyio.run(main)
"""


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_answers_through_the_pipe_and_nothing_else_is_on_it(
    environment: dict[str, str], tmp_path: Path, era: str
) -> None:
    async def talk() -> dict[str, Reply]:
        wire = f"{shlex.quote(sys.executable)} -m kb.cli mcp | tee {tmp_path / 'wire'}"
        started = StdioServerParameters(command="bash", args=["-c", wire], env=environment)
        with (tmp_path / "errors").open("w") as errors:
            async with Client(stdio_client(started, errlog=errors), mode=era) as client:
                assert client.instructions
                calls = {
                    "kb_targets": {},
                    "kb_search": {"phrasings": ["local data share"], "target": "mi210"},
                    "kb_facts": {"target": "mi210", "quantity": "lds_size"},
                }
                replies = {tool: Reply.of(await client.call_tool(tool, given)) for tool, given in calls.items()}
                found = {"id": next(iter(cited(replies["kb_search"].answer)))}
                replies["kb_read"] = Reply.of(await client.call_tool("kb_read", found))
                replies["error"] = Reply.of(await client.call_tool("kb_read", {"id": "0"}))
        return replies

    replies = anyio.run(talk)

    assert replies.pop("error").refused
    assert len([reply.answer for reply in replies.values()]) == 4
    lines = (tmp_path / "wire").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["jsonrpc"] for line in lines} == {"2.0"}
    assert "Traceback" not in (tmp_path / "errors").read_text(encoding="utf-8")


def test_a_host_is_greeted_before_the_home_is_opened_and_no_tool_loads_what_makes_models(
    environment: dict[str, str],
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODULES_AFTER_EACH_TOOL, json.dumps(KERNEL)], env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip

    greeted, after = map(set, json.loads(done.stdout))
    assert greeted & {"kb.usecases.knowledge_base", "kb.catalog", "numpy", "ingest.pipeline"} == set()
    assert "numpy" in after
    assert after & {"torch", "sentence_transformers", "transformers", "chromadb", "onnxruntime"} == set()


UNREADABLE = {
    r'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "\ud800"}}': (2, "half of a character"),
    r'{"jsonrpc": "2.0", "id": "b", "method": "ping", "params": {"\udfff": 1}}': ("b", "half of a character"),
    r'{"jsonrpc": "2.0", "id": 3, "method"': (None, "Invalid JSON"),
    '"text"': (None, "Input should be"),
}


def test_a_message_that_cannot_be_read_is_answered_with_an_error_and_the_next_one_is_read(
    environment: dict[str, str],
) -> None:
    notification = r'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"text": "\ud800"}}'
    asked = [*UNREADABLE, notification, '{"jsonrpc": "2.0", "id": 9, "method": "ping"}']

    with subprocess.Popen(
        [sys.executable, "-m", "kb.cli", "mcp"], env=environment, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as served:  # fmt: skip
        assert served.stdin is not None and served.stdout is not None  # noqa: PT018 - both are pipes
        served.stdin.write("".join(f"{line}\n" for line in asked))
        served.stdin.flush()
        *answers, ping = (json.loads(served.stdout.readline()) for _ in (*UNREADABLE, "ping"))
        served.stdin.close()  # what is not answered then stays unanswered

    for answer, (number, said) in zip(answers, UNREADABLE.values(), strict=True):
        assert answer["id"] == number
        assert said in answer["error"]["message"]
    assert ping["id"] == 9
