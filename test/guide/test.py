#!/usr/bin/env python3
"""Runs every example of the guides: doc/hooks.md, doc/workers.md, doc/modules.md.

    test.py TRY_HOOK AGENT COMPILER (examples | broken)

An HTML comment above a fenced block says what it is:

    file: NAME                 saved in the folder of its section ("## ..."); executable if it begins with #!;
                               a config.json must load, unless ", which does not load" follows its name
    copy: NAME of FILE         likewise, and it is the whole of that example
    console                    what the commands after "$ " print in that folder
    payload: PHASE             what a hook of the phase gets on stdin
    payload: EVENT of PHASE    the same under the claude protocol, for the payload of the phase as the guide
                               shows it; JSON after it changes fields of that
    answer: PHASE              accepted in that phase, with all that it says
    answer: EVENT of PHASE     the same under the claude protocol
    log                        what the agent writes into host.jsonl when a hook exits with 3 in each phase
    part of FILE               stands in an example that is built and run by the tests
    manifest                   of a plugin; both of its modules are loaded
    approval                   a config.json that allows bash, denies write, and asks before the rest

In doc/modules.md the tables of events have each event with its fields and those of its answer.

With `broken`, every block is damaged in turn, which its test must notice.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = ("doc/hooks.md", "doc/workers.md", "doc/modules.md")
TRY_HOOK = AGENT = COMPILER = ""


class Wrong(Exception):
    pass


def expect(holds, *why):
    if not holds:
        raise Wrong("\n".join(map(str, why)))


class Block:
    def __init__(self, place, section, role, text):
        self.place, self.section, self.role, self.text = place, section, role, text

    def with_text(self, text):
        return Block(self.place, self.section, self.role, text)

    def match(self, pattern):
        return re.fullmatch(pattern, self.role)


def blocks_of(guide):
    """The fenced blocks. A fence without a role is wrong."""
    blocks, section, lines = [], "", (ROOT / guide).read_text().split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if start is not None:
            if line == "```":
                above = re.fullmatch(r"<!-- (.*) -->", lines[start - 2])
                expect(above, f"{guide}:{start}: no comment above this block says what it is")
                text = "\n".join(lines[start : number - 1]) + "\n"
                blocks.append(Block(f"{guide}:{start}", section, above[1], text))
                start = None
        elif line.startswith("```"):
            start = number
        elif line.startswith("## "):
            section = f"{guide} {line}"
        else:
            expect(not line.startswith("    "), f"{guide}:{number}: an indented block; nobody runs it")
    expect(start is None, f"{guide}:{start}: this block does not end")
    return blocks


def broken_links(guide):
    """Those to files that are not there, and to headings that are not."""
    for link in re.findall(r"\]\(([^)]*)\)", prose_of(ROOT / guide)):
        name, _, heading = link.partition("#")
        file = ROOT / "doc" / name if name else ROOT / guide
        if not file.exists() or heading and heading not in anchors_of(file):
            yield f"{guide}: nothing is at {link}"


def prose_of(file):
    return re.sub(r"^```.*?^```$", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors_of(file):
    headings = re.findall(r"^#+ (.*)$", prose_of(file), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrong_events():
    """What the tables of doc/modules.md say of events, and the headers do not, or the other way round."""
    there = {}
    for header in (ROOT / "include/belay/modules").glob("*_events.hpp"):
        for name, body in re.findall(r"^struct (\w+) {\n(.*?)^};", header.read_text(), re.MULTILINE | re.DOTALL):
            if "event_name" not in body:
                continue
            answer = re.search(r"^    struct result {(.*?)^    };", body, re.MULTILINE | re.DOTALL)
            member = r"^{}(?!static|using|struct)[\w:]\S*(?:<.*>)?\s+(\w+)(?:{{}}| = .*)?;"
            there[name] = (set(re.findall(member.format("    "), body, re.MULTILINE)),
                           set(re.findall(member.format("        "), answer[1], re.MULTILINE)) if answer else
                           {"reason"} if "block>" in body else set())
    told = {}
    for name, fields, answer in re.findall(r"^\| `(\w+)` \| [^|]+ \|(.*)\|(.*)\|$", (ROOT / "doc/modules.md").read_text(), re.MULTILINE):
        names = [set(re.findall(r"`([\w:]+)`", text)) for text in (fields, answer)]
        told[name] = (names[0], names[1] - {"result", "belay::block"})
    for name in sorted(there.keys() | told.keys()):
        if there.get(name) != told.get(name):
            yield f"doc/modules.md: of {name} it says {told.get(name)}, and there is {there.get(name)}"


def run(*command, **how):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=100, **how)


def save(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if text.startswith("#!"):
        file.chmod(0o755)


def try_hook(home, event):
    save(home / "event.json", event)
    return run(TRY_HOOK, home, home / "event.json")


def save_config(home, text):
    """It must load as it is. Then its hooks get all the time they need."""
    save(home / "config.json", text)
    loaded = try_hook(home, '{"type": "none"}')
    expect("no phase" in loaded.stdout, loaded.stdout)
    document = json.loads(text)
    for hook in document.get("hooks", []):
        hook["timeout_ms"] = 30000
    save(home / "config.json", json.dumps(document))


def hook_says(folder, phase, script, event, protocol="vera"):
    """What try_hook prints when the only hook is this shell script."""
    save(folder / "hooks/hook", "#!/bin/sh\n" + script)
    save_config(folder, json.dumps({"hooks": [{"phase": phase, "protocol": protocol, "argv": ["hook"]}]}))
    ended = try_hook(folder, json.dumps(event))
    expect(ended.returncode == 0, ended.stdout)
    return ended.stdout


@functools.cache
def payload_of(phase):
    for block in blocks_of(GUIDES[0]):
        if block.role == f"payload: {phase}":
            return block.text
    raise Wrong(f"the guide shows no payload of {phase}")


def loads(text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Wrong(f"not JSON: {error}\n{text}")


def payload(block, folder):
    configured, phase, changes = block.match(r"payload: (\w+)(?: of (\w+))?( \{.*\})?").groups()
    event = loads(payload_of(phase) if phase else block.text) | json.loads(changes or "{}")
    # Copies its stdin; what it prints is right for the vera protocol, and no JSON under the other.
    script = f"cat >{shlex.quote(str(folder / 'got'))}\n" + ("" if phase else "echo '{\"power\":\"observe\"}'\n")
    said = hook_says(folder, configured, script, event, "claude" if phase else "vera")
    expect((folder / "got").exists(), "the hook did not run", said)
    got = json.loads((folder / "got").read_text())
    expect(got == loads(block.text), "the hook got", json.dumps(got, indent=2))


def answer(block, folder):
    configured, phase = block.match(r"answer: (\w+)(?: of (\w+))?").groups()
    said = loads(block.text)
    save(folder / "said", block.text)
    script = f"cat >/dev/null\ncat {shlex.quote(str(folder / 'said'))}\n"
    event = json.loads(payload_of(phase or configured))
    shown = hook_says(folder, configured, script, event, "claude" if phase else "vera")
    power = said.get("power", r"(block|mutate|continue)") if not phase else r"(block|mutate|continue)"
    expect(re.match(rf"hook: {power} \(\d+ ms\)\n", shown), "the answer is not accepted:", shown)
    for key, value in leaves(said):
        wanted = "an error" if value is True else value
        expect(key in ("power", "type", "decision", "hookEventName", "permissionDecision") or not isinstance(wanted, str) or
               wanted in shown, f"{key} has no effect:", shown)


def leaves(value, key=""):
    if isinstance(value, dict):
        for inner, below in value.items():
            yield from leaves(below, inner)
    elif isinstance(value, list):
        for below in value:
            yield from leaves(below, key)
    else:
        yield key, value


def log(block, folder):
    script = {"conversation": [
        {"prompt": "go", "replies": [{"calls": [
            {"id": "call_1", "name": "bash", "input": {"command": "true"}},
            {"id": "call_2", "name": "agent", "input": {"name": "clerk", "prompt": "Count."}, "replies": [{"text": "One."}]},
        ]}, {"text": "Done."}]},
        {"compact": {"tokens": 1}},
    ]}
    save(folder / "script.json", json.dumps(script))
    for line in block.text.splitlines():
        record = loads(line)
        expect(record.keys() >= {"time", "type"}, "a record has a time and a type", line)
        phase = record["type"].removesuffix("_hook_failed")
        home = folder / phase
        save(home / "hooks/broken", "#!/bin/sh\nexit 3\n")
        save_config(home, json.dumps({"hooks": [{"phase": phase, "argv": ["broken"]}]}))
        played = run(AGENT, folder / "script.json", "--home", home)
        expect(played.returncode == 0, played.stdout)
        written = [json.loads(one) for one in (home / "runtime/logs/host.jsonl").read_text().splitlines()]
        for one in (record, *written):
            expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one.pop("time")), "this is no time", one)
        expect(record in written, "the agent wrote", json.dumps(written))


def part(block, folder):
    name = block.match(r"part of (example/(?:agent/|modules/)?\w+\.cpp)")[1]
    expect("\n" + block.text in "\n" + (ROOT / name).read_text(), f"{name} has no such lines")


def file(block, folder):
    name, bad = block.match(r"file: ([^\s,]+)(, which does not load)?").groups()
    if name.endswith("config.json") and not bad:
        save_config((folder / name).parent, block.text)
    else:
        save(folder / name, block.text)


def copy(block, folder):
    name, source = block.match(r"copy: (\S+) of (example/\S+)").groups()
    expect(block.text == (ROOT / source).read_text(), f"{source} is another")
    save(folder / name, block.text)


@functools.cache
def compiled(source, *options):
    """The program; what is damaged elsewhere does not change it."""
    with tempfile.TemporaryDirectory(prefix="belay_guide.") as folder:
        file = pathlib.Path(folder) / "source.cpp"
        file.write_text(source)
        ended = run(COMPILER, file, "-o", file.with_suffix(""), *options)
        expect(ended.returncode == 0, ended.stdout)
        return file.with_suffix("").read_bytes()


def compile_in(folder, command):
    """What `c++ OPTIONS -o PROGRAM SOURCE OPTIONS` does."""
    before, program, source, after = re.fullmatch(r"c\+\+ (.*)-o (\S+) (\S+\.cpp) (.*)", command).groups()
    program = folder / program
    program.write_bytes(compiled((folder / source).read_text(), f"-I{ROOT / 'include'}", *before.split(), *after.split()))
    program.chmod(0o755)


def modules():
    """Where those of example/modules are, as they were built."""
    built = pathlib.Path(AGENT).parent
    return next(folder for folder in (built / "modules", built) if (folder / "guard.so").exists())


def play_calls(home, *calls):
    """What the agent prints when the model makes these calls."""
    replies = [{"calls": [{"name": name, **call} for name, call in calls]}, {"text": "Done."}]
    save(home / "script.json", json.dumps({"conversation": [{"prompt": "go", "replies": replies}]}))
    played = run(AGENT, home / "script.json", "--home", home)
    expect(played.returncode == 0, played.stdout)
    return played.stdout


def manifest(block, folder):
    plugin = folder / "plugins/node_modules/ship"
    save(plugin / "package.json", block.text)
    for name in ("rigging.so", "lookout.so"):
        (plugin / name).symlink_to(modules() / "guard.so")
    said = play_calls(folder, ("bash", {"input": {"command": "rm -rf x"}}))
    expect("  modules    2\n" in said and "| blocked by policy\n" in said, "its modules are not loaded:", said)


def approval(block, folder):
    save_config(folder, block.text)
    said = play_calls(folder, ("bash", {"input": {"command": "echo ran"}}),
                      ("write", {"input": {"path": "x", "content": "y"}}), ("read", {"input": {"path": "x"}}),
                      ("agent", {"input": {"name": "ann", "prompt": "go"}, "replies": [{"text": "Never said."}]}))
    for wanted in ("| ran\n", "| Tool call denied by user: write\n      | Tool \"write\" is blocked by user policy",
                   "| read: x: No such", "| Tool call denied by user: agent\n"):
        expect(wanted in said, f"the agent does not print {wanted}", said)


def console(block, folder):
    tools = folder / ".bin"
    save(tools / "try_hook", f'#!/bin/sh\nexec {shlex.quote(TRY_HOOK)} "$@"\n')
    save(tools / "belay_agent", f'#!/bin/sh\nexec {shlex.quote(AGENT)} "$@"\n')
    if not (folder / "modules").exists():
        (folder / "modules").symlink_to(modules())
    expect(block.text.startswith("$ "), "a console begins with a command")
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        if command.startswith("c++ "):
            compile_in(folder, command)
            continue
        ended = run("sh", "-c", command, cwd=folder, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        printed = re.sub(r"\d+ ms", "N ms", ended.stdout.replace(f"{folder}/", ""))
        expect(printed == re.sub(r"\d+ ms", "N ms", shown), f"$ {command}", ended.stdout)
        expect(ended.returncode == 0 or ended.returncode == 2 and "try_hook: " in shown,
               f"$ {command}", f"exit status {ended.returncode}")


KINDS = {"payload": payload, "answer": answer, "log": log, "part": part, "file": file, "copy": copy, "console": console,
         "manifest": manifest, "approval": approval}
ALONE = {payload, answer, log, part, manifest, approval}


def kind_of(block):
    word = re.match(r"\w+", block.role)
    expect(word and word[0] in KINDS, f"{block.place}: what is \"{block.role}\"?")
    return KINDS[word[0]]


def play(blocks):
    """Runs the blocks of one section."""
    with tempfile.TemporaryDirectory(prefix="belay_guide.") as folder:
        for block in blocks:
            try:
                kind_of(block)(block, pathlib.Path(folder))
            except Wrong as why:
                raise Wrong(f"{block.place}: {block.role}\n{why}")


def renamed(text, free=()):
    """One key after the other gets another name, but not what is the tools' own."""
    def walk(value):
        if isinstance(value, dict):
            for key in value:
                yield {("x" + one if one == key else one): below for one, below in value.items()}
                for below in walk(value[key]) if key not in free else ():
                    yield value | {key: below}
        elif isinstance(value, list):
            for index, one in enumerate(value):
                for below in walk(one):
                    yield value[:index] + [below] + value[index + 1 :]
    yield from map(json.dumps, walk(json.loads(text)))


def damaged(block):
    """Texts that must not pass in place of the block's own."""
    text = block.text
    if kind_of(block) in (manifest, approval):
        yield from renamed(text)
    elif kind_of(block) is log:
        for line in text.splitlines():
            yield from renamed(line)
    elif kind_of(block) in (payload, answer):
        yield from renamed(text, free=["input", "tool_input"] + ["content"] * (kind_of(block) is payload))
    elif kind_of(block) is part:
        yield text.replace("\n", " \n", 1)
    elif kind_of(block) is console:
        output = text.splitlines()[-1]
        yield text + "x\n" if not output.startswith("$ ") else text[: text.rindex("$ ")] + "$ false\n"
    elif text.startswith("#!"):
        yield "#!/bin/sh\nexit 9\n"
    else:
        yield "{\n#error\n"


def main(what):
    sections = {}
    for guide in GUIDES:
        for block in blocks_of(guide):
            sections.setdefault(block.section, []).append(block)
    failed = [*wrong_events(), *(one for guide in GUIDES for one in broken_links(guide))] if what == "examples" else []
    count = 0
    for section in sections.values():
        if what == "examples":
            count += len(section)
            try:
                play(section)
            except Wrong as why:
                failed.append(str(why))
            continue
        for block in section:
            for text in damaged(block):
                changed = block.with_text(text)
                count += 1
                try:
                    play([changed] if kind_of(block) in ALONE
                         else [changed if one is block else one for one in section if kind_of(one) not in ALONE])
                except Wrong:
                    continue
                failed.append(f"{block.place}: {block.role}\nnobody notices when it says\n{text}")
    print(*failed, sep="\n\n")
    expect(count, "there is nothing to run")
    print(f"{count} {'blocks' if what == 'examples' else 'damages'}, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    TRY_HOOK, AGENT = (os.path.abspath(path) for path in sys.argv[1:3])
    COMPILER = sys.argv[3]
    try:
        sys.exit(main(sys.argv[4]))
    except Wrong as why:
        sys.exit(str(why))
