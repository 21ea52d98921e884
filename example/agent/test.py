#!/usr/bin/env python3
"""Plays conversations with the agent and looks at what a person gets to see.

    test.py AGENT [default_conversation | other_conversations | subagents | extensions | modules | both_systems |
                   bad_input]...
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

AGENT = ""
HERE = pathlib.Path(__file__).resolve().parent


def run(*arguments, **environment):
    return subprocess.run(
        [AGENT, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=100,
        env={**os.environ, **environment},
    )


def module(name):
    """The path of a module of example/modules."""
    built = pathlib.Path(AGENT).parent
    return next(file for file in (built / "modules" / f"{name}.so", built / f"{name}.so") if file.exists())


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="belay_agent_test."))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "home/hooks").mkdir(parents=True)

    def script(self, *conversation, **others):
        file = self.folder / "script.json"
        file.write_text(json.dumps({"conversation": conversation, **others}))
        return file

    def hook(self, phase, name, body, **entry):
        """Adds a hook to the home: a shell script that has its stdin in $event."""
        file = self.folder / "home/hooks" / name
        file.write_text("#!/bin/sh\nevent=$(cat)\n" + body + "\n")
        file.chmod(0o755)
        config = self.folder / "home/config.json"
        document = json.loads(config.read_text()) if config.exists() else {}
        document.setdefault("hooks", []).append({"phase": phase, "argv": [name], "timeout_ms": 20000, **entry})
        config.write_text(json.dumps(document))

    def play(self, *conversation, status=0, modules=(), options=(), **others):
        """What is printed when the conversation is played in the home of this test, with these modules."""
        loaded = [argument for name in modules for argument in ("--extension", module(name))]
        ended = run(self.script(*conversation, **others), "--home", self.folder / "home", *loaded, *options,
                    RECORDER_FILE=str(self.folder / "events"), TURN_LIMIT="2")
        self.assertEqual(ended.stderr.decode(), "")
        self.assertEqual(ended.returncode, status)
        return ended.stdout.decode()

    def events(self, *names):
        """What the module recorder has seen, of these events."""
        file = self.folder / "events"
        lines = map(json.loads, file.read_text().splitlines()) if file.exists() else []
        return [line for line in lines if not names or line["event"] in names]

    def session_file(self, session):
        file = self.folder / f"home/runtime/sessions/{session}.jsonl"
        return list(map(json.loads, file.read_text().splitlines()))

    def assertInOrder(self, text, *parts):
        at = 0
        for part in parts:
            found = re.compile(part, re.MULTILINE).search(text, at)
            if not found:
                self.fail(f"not found, or not in this place: {part}\n\n{text}")
            at = found.end()


def call(name, /, denied=None, **input):
    return {"name": name, "input": input, **({"denied": denied} if denied else {})}


def said(replies):
    return [{"text": r} if isinstance(r, str) else r for r in replies]


def turn(prompt, *replies, answers=None):
    return {"prompt": prompt, "replies": said(replies), **({"answers": answers} if answers is not None else {})}


def agent(name, prompt, *replies, **others):
    return {**call("agent", name=name, prompt=prompt, **others), "replies": said(replies)}


def wait_until(true):
    deadline = time.monotonic() + 60
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError("it has not come to pass")
        time.sleep(0.01)


class default_conversation(Case):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.files_of_the_home()
        cls.ended = run()
        cls.text = cls.ended.stdout.decode()

    @staticmethod
    def files_of_the_home():
        return {file: file.stat().st_mtime_ns for file in (HERE / "../home").rglob("*")}

    def test_it_is_played_to_its_end(self):
        self.assertEqual(self.ended.stderr.decode(), "")
        self.assertEqual(self.ended.returncode, 0)

    def test_it_shows_each_power_at_work(self):
        self.assertInOrder(
            self.text,
            r"^session sess_harbour$",
            r"^session_start: start$",
            r"## Session start hook 1$",
            r"Keep replies short\.$",
            r"weather-glass failed: Command hook exited with status 3; the conversation goes on$",
            r"^> The charts of 1921 are in the way",
            r"bash  rm charts/1921-\*$",
            r"blocked by chart-guard: Charts are never deleted",
            r"read  charts/1984-north.txt$",
            r"\| soundings of 1984$",
            r"\| 1921-north.txt$",
            r"^> Make hoist.sh executable",
            r"\+ remember added context$",
            r"bash  chmod 777 hoist.sh",
            r"input rewritten by careful-modes$",
            r"before  .*chmod 777",
            r"after   .*chmod 755",
            r"ran for \d+ ms$",
            r"\| 755$",
            r"\| flag hoisted$",
            r"bash  curl -s https://tides.example/harwich$",
            r"not run: result given by tide-table$",
            r"\| high water 06:12",
            r"^> How is the harbour office configured",
            r"\+ Remembered where the harbour office is configured · remember$",
            r"result patched by redact$",
            r"\| OFFICE_TOKEN=\[redacted\]$",
            r"^> Only look",
            r"tools narrowed to: read$",
            r"read  manifest.csv$",
            r"\| rope,4$",
            r"bash  wc -l manifest.csv$",
            r"^ +Tool not offered: bash$",
            r"read  \.\./\.\./etc/hostname$",
            r"not in the workspace",
            r"^> How deep does the wreck lie\?",
            r"\+ Land ho: wreck · lookout$",
            r"bash  pip install ./sextant$",
            r"blocked by quarantine: Nothing comes aboard before it has been looked at\.$",
            r"bash  for chart in ",
            r"blocked by lookout: the shell cannot read this command$",
            r"syntax error",
            r"lies probably deep enough\.$",
            r"\+ Sent back to look, not to guess · lookout$",
            r"^  Two fathoms",
            r"^> Note that for the pilot\.$",
            r"^  I will write it down\.$",
            r"\+ keep-promises continued the turn$",
            r"\| wrote 31 bytes to pilot.txt$",
            r"^  It is in pilot.txt\.$",
            r"^\? What may the pilot not know yet\?$",
            r"^  That the lamps are dirty\.$",
            r"^> Have the charts counted",
            r"^  clerk: session_start: start$",
            r"^  clerk: > Count the charts\.$",
            r"^  clerk:   I will count them\.$",
            r"^  clerk:   \+ keep-promises continued the turn$",
            r"^  clerk:   \* bash  ls attic charts",
            r"^  clerk:       \| 2$",
            r"^  clerk:       blocked by chart-guard: Charts are never deleted",
            r"^  clerk:   There are two charts, and both stay\.$",
            r"^  \* agent  boatswain: Trim the lamps\.$",
            r"\| boatswain is at work in the background$",
            r"^  \* agent  clerk: Count the charts\.$",
            r"\| There are two charts, and both stay\.$",
            r"^  Two charts\. The lamps are being trimmed\.$",
            r"^  boatswain: > Trim the lamps\.$",
            r"^  boatswain:   All lamps burn\.$",
            r"^> boatswain hands back: All lamps burn\.$",
            r"^  The lamps burn, too\.$",
            r"^  \* agent  boatswain: Hoist the flag\.$",
            r"^  boatswain:       \| flag hoisted$",
            r"^> boatswain hands back: The flag is up\.$",
            r"^/compact: 5200 tokens",
            r"^session_start: compacted$",
            r"Keep replies short\.$",
            r"^> Write the watch bill",
            r"\| wrote 38 bytes to watch.txt$",
            r"write  manifest.csv$",
            r"customs failed: Command hook exited with status 4; the call was blocked$",
            r"bash  mail",
            r"denied: .*not before the captain has seen it",
            r"^> And a third watch, please\.$",
            r"\| morning watch: Cole$",
            r"^  Done\.$",
            r"\+ Sent back to name the file · name-the-file$",
            r"^  Done: the three watches are in watch.txt",
            r"^> The new password is",
            r"blocked by discretion: That message holds a password\.$",
            r"the model was not called$",
            r"^> Throw the attic away",
            r"\? Dangerous command$",
            r"Allow: rm -rf attic \(yes or no\)$",
            r"> no$",
            r"^! Blocked write to \.env$",
            r"bash  rm -rf attic$",
            r"\| user denied command$",
            r"read  weather.env$",
            r"\| API_KEY=\[REDACTED\]$",
            r"write  \.env$",
            r'\| Path "\.env" is protected$',
            r"^  The attic stays",
            r"^= turn \d+, \d+ tools$",
            r"^> /handoff$",
            r"^session sess_harbour\.2$",
            r"^session_start: start$",
            r"^> Go on\.$",
            r"^  From a summary",
            r"^seen by the lookout$",
            r"^runtime/logs/host.jsonl$",
            r'"type":"session_start_hook_failed".*"command":"weather-glass"',
        )

    def log(self, name):
        """Its lines, which have no order: nothing waits for what only watches."""
        text = self.text[self.text.index(f"\n{name}\n"):].strip().split("\n\n")[0]
        return sorted(line.strip() for line in text.splitlines()[1:])

    def test_an_extension_sees_every_turn_every_subagent_and_every_end(self):
        self.assertEqual(self.log("seen by the lookout"), sorted([
            "sess_harbour: closed, turns: 11",
            "sess_harbour: turn 10: error",
            "sess_harbour: turn 11: completed",
            "sess_harbour.2: closed, turns: 1",
            "sess_harbour.2: turn 1: completed",
            *(f"sess_harbour: turn {turn}: completed" for turn in (1, 2, 3, 4, 5, 6, 7, 7, 8, 9)),
            "sess_harbour/boatswain: closed, turns: 2",
            "sess_harbour/boatswain: turn 1: completed",
            "sess_harbour/boatswain: turn 2: completed",
            "sess_harbour/boatswain handed back: All lamps burn.",
            "sess_harbour/boatswain handed back: The flag is up.",
            "sess_harbour/clerk: closed, turns: 1",
            "sess_harbour/clerk: turn 1: completed",
            "sess_harbour/clerk handed back: There are two charts, and both stay.",
        ]))

    def test_executables_see_them_too(self):
        self.assertEqual(self.log("runtime/logs/ship.log"), [
            "pre_compact reason=manual tokens=5200",
            "session_end sessionId=sess_harbour reason=closed turns=11",
            "session_end sessionId=sess_harbour.2 reason=closed turns=1",
            "session_end sessionId=sess_harbour/boatswain reason=closed turns=2",
            "session_end sessionId=sess_harbour/clerk reason=closed turns=1",
            "subagent_finished subagentId=sess_harbour/boatswain outcome=completed",
            "subagent_finished subagentId=sess_harbour/boatswain outcome=completed",
            "subagent_finished subagentId=sess_harbour/clerk outcome=completed",
        ])

    def test_what_hooks_hide_is_not_shown(self):
        for hidden in ("tk-48151623", "wx-2342", "Times of high water are given", "You said done", "You have said",
                       "The wreck lies at", "Do not guess", "Noted."):
            self.assertNotIn(hidden, self.text)

    def test_the_next_run_prints_the_same(self):
        def comparable(text):
            text = re.sub(r"belay_agent\.\w{6}", "SCRATCH", text)
            text = re.sub(r"ran for \d+ ms", "ran", text)
            conversation, logs = text.split("\nseen by the lookout\n")
            return conversation, sorted(logs.splitlines())  # what only watches has no order

        self.assertEqual(comparable(run().stdout.decode()), comparable(self.text))

    def test_nothing_is_left_behind(self):
        scratch = re.search(r"workspace +(\S+)/workspace", self.text).group(1)
        self.assertFalse(pathlib.Path(scratch).exists())
        self.assertEqual(self.files_of_the_home(), self.home)


class other_conversations(Case):
    def test_the_script_of_the_readme_is_played(self):
        script = self.folder / "script.json"
        script.write_text(re.search(r"```json\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)[1])
        ended = run(script, "--home", self.folder / "home")
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))
        self.assertInOrder(ended.stdout.decode(), r"\| first line$", r"denied: not the notes$", r"^> Be careful, please\.$",
                           r"^automatic compaction", r"^> clerk hands back: There is one\.$", r"^/compact")
        self.assertNotIn("not played", ended.stdout.decode())

    def test_a_home_without_config_has_no_hooks(self):
        text = self.play(turn("Hello.", {"calls": [call("bash", command="echo aye")]}, "Good."))
        self.assertInOrder(text, r"hooks +0 in", r"^> Hello", r"\| aye$", r"^  Good\.$")
        self.assertFalse((self.folder / "home/runtime/logs/host.jsonl").exists())

    def test_a_home_is_used_in_place(self):
        self.hook("pre_tool_use", "spy", """printf '%s' "$event" >"$(dirname "$0")/seen"; exit 9""")
        text = self.play(turn("Go.", {"calls": [call("read", path="a")]}, "Well."))
        self.assertInOrder(text, r"spy failed: .*status 9; the call was blocked$", r"pre_tool_use_hook_failed")
        seen = json.loads((self.folder / "home/hooks/seen").read_text())
        self.assertEqual(seen["toolCall"], {"id": "call_1", "name": "read", "input": {"path": "a"}})
        record = json.loads((self.folder / "home/runtime/logs/host.jsonl").read_text())
        self.assertEqual(record["command"], "spy")
        self.assertIn("time", record)

    def test_a_workspace_is_used_in_place_and_its_files_are_kept(self):
        workspace = self.folder / "workspace"
        workspace.mkdir()
        (workspace / "old.txt").write_text("old")
        script = self.script(
            turn("Go.", {"calls": [call("read", path="old.txt"), call("write", path="d/new.txt", content="n")]}, "Well."),
            files={"old.txt": "young", "other.txt": "x"},
        )
        ended = run(script, "--workspace", workspace, f"--home={self.folder / 'home'}")
        self.assertEqual(ended.returncode, 0)
        self.assertInOrder(ended.stdout.decode(), r"\| old$")
        self.assertEqual((workspace / "d/new.txt").read_text(), "n")
        self.assertEqual((workspace / "other.txt").read_text(), "x")

    def test_tools_stay_in_the_workspace(self):
        outside = self.folder / "outside"
        text = self.play(
            turn(
                "Go.",
                {"calls": [call("bash", command=f"ln -s {self.folder} link; mkfifo pipe")]},
                {
                    "calls": [
                        call("write", path=str(outside), content="x"),
                        call("write", path="../../outside", content="x"),
                        call("write", path="link/outside", content="x"),
                        call("write", path=".", content="x"),
                        call("read", path="pipe"),
                        call("read", path="missing"),
                        call("read", path=7),
                    ]
                },
                "Well.",
            )
        )
        self.assertFalse(outside.exists())
        self.assertEqual(text.count("is not in the workspace"), 4)
        self.assertInOrder(text, r"pipe: is not a file", r"missing: No such file", r'no string "path"')

    def test_what_becomes_of_a_command_is_shown(self):
        text = self.play(
            turn(
                "Go.",
                {
                    "calls": [
                        call("bash", command="echo out; echo err >&2; exit 3"),
                        call("bash", command="kill -9 $$"),
                        call("bash", command="true"),
                        call("bash", command="seq 100"),
                        call("bash", command="head -c 100000 /dev/zero | tr '\\0' x"),
                        call("bash", script="true"),
                        call("teleport", to="Harwich"),
                    ]
                },
                "Well.",
            )
        )
        self.assertInOrder(
            text,
            r"\| out$", r"\| err$", r"\| exit status 3$",
            r"\| ended by signal 9$",
            r"\| \(no output\)$",
            r"\| 12$", r"\| \(88 more lines\)$",
            r"\| x{1000} \(\d+ more bytes\)$", r"the output is over its limit$",
            r'no string "command"',
            r'teleport  {"to":"Harwich"}$', r"Tool not offered: teleport",
        )

    def test_a_failing_post_tool_hook_leaves_the_result(self):
        self.hook("post_tool_use", "patch", """echo '{"power":"mutate","patch":{"content":[]}}'""")
        self.hook("post_tool_use", "crash", "kill -9 $$")
        text = self.play(turn("Go.", {"calls": [call("bash", command="echo kept")]}, "Well."))
        self.assertInOrder(text, r"crash failed: .*; the result is the tool's own$", r"\| kept$")
        self.assertNotIn("patched by", text)

    def test_a_failing_pre_turn_hook_blocks_the_prompt(self):
        self.hook("pre_turn", "broken", "echo '{'")
        text = self.play(turn("Go.", "Never said."))
        self.assertInOrder(text, r"broken failed: .*JSON; the prompt was blocked$", r"the model was not called$",
                           r"1 reply of the script not played")
        self.assertNotIn("Never said.", text)

    def test_the_first_prompt_may_change_the_model_and_the_effort(self):
        self.hook("pre_turn", "tune", """echo '{"power":"mutate","model":"m2","reasoningEffort":"high","tools":[]}'""")
        text = self.play(turn("Go.", {"calls": [call("bash", command="true")]}, "Well."))
        self.assertInOrder(text, r"tools narrowed to: none$", r"model changed to: m2$",
                           r"reasoning effort changed to: high$", r"Tool not offered: bash")

    def test_a_blocked_joining_prompt_ends_the_turn(self):
        self.hook("pre_turn", "guard", """case $event in
*'"arrivedDuringTurn":true'*) echo '{"power":"block","reason":"too late"}' ;;
*) echo '{"power":"observe"}' ;;
esac""")
        text = self.play(
            turn("Go.", {"calls": [call("bash", command="echo ran")], "joining": ["And this."]}, "Never said."))
        self.assertInOrder(text, r"\| ran$", r"^> And this\.$", r"blocked by guard: too late$")
        self.assertNotIn("Never said.", text)

    def test_a_turn_is_sent_back_once(self):
        self.hook("turn_ending", "nag", """echo '{"power":"continue","context":"again"}'""")
        text = self.play(turn("Go.", "One.", "Two.", "Never said."))
        self.assertInOrder(text, r"One\.$", r"\+ nag continued the turn$", r"Two\.$", r"1 reply of the script")
        self.assertEqual(text.count("continued the turn"), 1)
        self.assertNotIn("Never said.", text)

    def test_a_turn_that_outlasts_the_script_ends(self):
        self.hook("turn_ending", "nag", """echo '{"power":"continue","context":"again"}'""")
        text = self.play(turn("Go.", "One."), turn("Next.", "Two.", "Three."))
        self.assertInOrder(text, r"One\.$", r"has no further reply", r"^> Next", r"Three\.$")

    def test_a_reply_that_was_cut_off_runs_no_turn_ending_hook(self):
        self.hook("turn_ending", "nag", """echo '{"power":"continue","context":"again"}'""")
        text = self.play(turn("Go.", {"text": "One", "stop": "length"}))
        self.assertInOrder(text, r"One$", r"the reply was cut off")
        self.assertNotIn("continued", text)

    def test_a_compaction_in_a_turn_runs_session_start_again(self):
        self.hook("session_start", "orders", """echo '{"power":"mutate","context":"Short."}'""")
        text = self.play(
            turn("Go.", {"calls": [call("bash", command="true")], "compact": {"tokens": 7}}, "Well."),
            {"compact": {"fails": True}},
        )
        self.assertInOrder(text, r"session_start: start$", r"automatic compaction: 7 tokens",
                           r"session_start: compacted$", r"Well\.$", r"^/compact", r"failed")
        self.assertEqual(text.count("## Session start hook 1"), 2)

    def test_a_question_beside_the_conversation_leaves_no_trace_in_it(self):
        self.hook("pre_turn", "spy", """printf '%s\\n' "$event" >>"$(dirname "$0")/seen"; echo '{"power":"observe"}'""")
        self.hook("session_end", "last", """printf '%s\\n' "$event" >>"$(dirname "$0")/seen\"""")
        text = self.play({"ask": "Too early?", "answer": "Never said."}, turn("Go.", "Well."),
                         {"ask": "How?", "answer": "So."}, {"ask": "Is anybody there?"}, turn("On.", "Fine."))
        self.assertInOrder(text, r"^\? Too early\?$", r"^! ", r"^> Go\.$", r"^  Well\.$", r"^\? How\?$", r"^  So\.$",
                           r"^\? Is anybody there\?$", r"^! .*the script has no answer", r"^> On\.$", r"^  Fine\.$")
        self.assertNotIn("Never said.", text)
        seen = [json.loads(line) for line in (self.folder / "home/hooks/seen").read_text().splitlines()]
        self.assertEqual([event.get("prompt", event.get("turns")) for event in seen], ["Go.", "On.", 2])

    def test_a_bare_session_runs_no_hook(self):
        for phase in ("session_start", "pre_turn", "pre_tool_use", "turn_ending", "session_end"):
            self.hook(phase, "spy-" + phase, 'echo ran >>"$(dirname "$0")/seen"')
        text = self.play(turn("Go.", {"calls": [call("bash", command="echo ran")]}, "Well."), session={"bare": True})
        self.assertInOrder(text, r"bare: no hooks", r"\| ran$")
        self.assertFalse((self.folder / "home/hooks/seen").exists())

    def test_a_config_that_breaks_meanwhile_is_reported_and_the_old_one_kept(self):
        self.hook("turn_ending", "spoil", f"""cd '{self.folder}/home'
grep -q hooks config.json && echo '{{' >config.json
echo '{{"power":"observe"}}'""")
        text = self.play(turn("One.", "A."), turn("Two.", "B."), turn("Three.", "C."))
        self.assertEqual(len(re.findall(r"^! .*config\.json", text, re.MULTILINE)), 1)
        self.assertInOrder(text, r"^  A\.$", r"^! .*config\.json", r"^  C\.$")

    def test_what_only_watches_is_looked_up_at_the_event(self):
        self.hook("turn_ending", "rewrite", """cd "$(dirname "$0")/.." && mv later.json config.json
echo '{"power":"observe"}'""")
        (self.folder / "home/hooks/late").write_text('#!/bin/sh\ncat >"$(dirname "$0")/seen"\n')
        (self.folder / "home/hooks/late").chmod(0o755)
        (self.folder / "home/later.json").write_text(
            json.dumps({"hooks": [{"phase": "session_end", "argv": ["late"], "timeout_ms": 20000}]}))
        self.play(turn("Go.", "Well."))
        self.assertEqual(json.loads((self.folder / "home/hooks/seen").read_text())["turns"], 1)

    def test_what_watches_the_end_is_waited_for(self):
        self.hook("session_end", "slow", """sleep 0.5; echo slow >>"$(dirname "$0")/seen"; exit 7""")
        text = self.play(turn("Go.", "Well."))
        self.assertEqual((self.folder / "home/hooks/seen").read_text(), "slow\n")
        self.assertInOrder(text, r'"type":"session_end_hook_failed".*status 7')

    def test_a_trace_shows_what_each_hook_said(self):
        self.hook("pre_turn", "first", """echo '{"power":"block","reason":"no"}'""")
        self.hook("pre_turn", "second", "exit 1")
        script = self.script(turn("Go.", "Never said."))
        ended = run(script, "--home", self.folder / "home", "--trace")
        self.assertEqual(ended.returncode, 0)
        self.assertInOrder(ended.stdout.decode(), r"pre_turn: first said block, after \d+ ms$",
                           r"pre_turn: second was not asked$", r"blocked by first")

    def test_no_control_character_reaches_the_terminal(self):
        evil = "\033[2J\a\r\u202e\u2028\u009b31m"
        self.hook("pre_tool_use", "guard", r"""case $event in *stop*) printf '{"power":"block","reason":"no \\u001b[2J"}' ;;
*) echo '{"power":"observe"}' ;; esac""")
        text = self.play(
            turn(
                "Go." + evil,
                {
                    "text": "Aye." + evil,
                    "calls": [
                        call("bash", command=r"printf 'x\033[2Jy\377\tz'"),
                        call("bash", command="stop " + evil),
                        call("ev\033il", path=evil, denied=evil),
                    ],
                },
                "Well.",
            ),
            session={"id": "s" + evil},
        )
        self.assertFalse([c for c in text if c != "\n" and (ord(c) < 32 or c in "\u202e\u2028\u009b")])
        self.assertInOrder(text, r"> Go\.\\u\{1b\}\[2J", r"x\\u\{1b\}\[2Jy\ufffd    z$", r"no \\u\{1b\}\[2J")

    def test_colours_are_for_terminals_that_want_them(self):
        script = self.script(turn("Go.", "Well."))
        for no_color, coloured in (("", True), ("1", False)):
            try:
                end, terminal = pty.openpty()
            except OSError as why:
                self.skipTest(f"no pseudo-terminal is to be had: {why}")
            environment = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm"}
            agent = subprocess.Popen([AGENT, script, "--home", self.folder / "home"], stdout=terminal, env=environment)
            os.close(terminal)
            text = b""
            while True:
                try:
                    some = os.read(end, 4096)
                except OSError:
                    break
                if not some:
                    break
                text += some
            os.close(end)
            self.assertEqual(agent.wait(timeout=100), 0)
            self.assertEqual(b"\033[" in text, coloured)
        self.assertNotIn("\033", run(script, TERM="xterm").stdout.decode())

    def test_an_interrupt_stops_the_turn_and_ends_the_session(self):
        self.hook("session_end", "last", 'echo ended >>"$(dirname "$0")/seen"')
        script = self.script(turn("Go.", {"text": "I wait.", "calls": [call("bash", command="sleep 1000")]}, "Never said."))
        agent = subprocess.Popen([AGENT, script, "--home", self.folder / "home"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text = ""
        while "I wait." not in text:
            self.assertTrue(select.select([agent.stdout], [], [], 60)[0], text)
            some = os.read(agent.stdout.fileno(), 4096).decode()
            self.assertTrue(some, text)
            text += some
        agent.send_signal(signal.SIGINT)
        rest, errors = agent.communicate(timeout=60)
        text += rest
        self.assertEqual((agent.returncode, errors), (130, ""))
        self.assertInOrder(text, r"I wait\.$", r"^! interrupted$")
        self.assertNotIn("Never said.", text)
        self.assertEqual((self.folder / "home/hooks/seen").read_text(), "ended\n")


    def test_its_hooks_end_with_it_however_it_is_told_to_end(self):
        here = 'echo $$ >"$(dirname "$0")/pid.part"; mv "$(dirname "$0")/pid.part" "$(dirname "$0")/pid"'
        self.hook("pre_tool_use", "endless", here + "; sleep 1000", timeout_ms=30000)
        self.hook("session_end", "stubborn", "trap '' TERM; " + here + "; sleep 1000", timeout_ms=30000)
        script = self.script(turn("Go.", {"calls": [call("bash", command="true")]}, "Done."))
        pid = self.folder / "home/hooks/pid"

        def started():
            deadline = time.monotonic() + 60
            while not pid.exists():
                self.assertLess(time.monotonic(), deadline, "the hook did not start")
                time.sleep(0.01)
            number = int(pid.read_text())
            pid.unlink()
            return number

        def is_alive(number):
            try:
                return "\nState:\tZ" not in pathlib.Path(f"/proc/{number}/status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                return False

        for first in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            agent = subprocess.Popen([AGENT, script, "--home", self.folder / "home"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            hooks = [started()]
            agent.send_signal(first)
            hooks.append(started())  # session_end runs, and does not want to end
            agent.send_signal(first)
            text, errors = agent.communicate(timeout=25)
            self.assertEqual((agent.returncode, errors), (130, ""))
            self.assertInOrder(text, r"^! interrupted$", r"^! hooks that were cut off: 1$", r'"session_end_hook_failed"')
            deadline = time.monotonic() + 60
            while any(map(is_alive, hooks)):
                self.assertLess(time.monotonic(), deadline, "a hook outlived the agent")
                time.sleep(0.01)


class subagents(Case):
    def spy(self, *phases):
        for phase in phases:
            self.hook(phase, "spy-" + phase, """printf '%s\\n' "$event" >>"$(dirname "$0")/seen"
[ "${0%_turn}" = "$0" ] || echo '{"power":"observe"}'""")

    def seen(self, phase):
        """The events of a phase that a spy has seen, in the order of their sessions."""
        file = self.folder / "home/hooks/seen"
        events = map(json.loads, file.read_text().splitlines()) if file.exists() else []
        return sorted((event for event in events if event["type"] == phase),
                      key=lambda event: event.get("sessionId", ""))

    def test_one_that_is_waited_for_hands_its_last_reply_back(self):
        self.spy("subagent_finished", "session_end")
        text = self.play(turn("Go.", {"calls": [agent("ann", "Look.", {"calls": [call("bash", command="echo x")]}, "Seen.")]},
                              "Well."))
        self.assertInOrder(text, r"^  ann: > Look\.$", r"^  ann:   \* bash  echo x$", r"^  ann:       \| x$", r"^  ann:   Seen\.$",
                           r"^  \* agent  ann: Look\.$", r"^      \| Seen\.$", r"^  Well\.$")
        workspace = re.search(r"workspace +(\S+)", text)[1]
        self.assertEqual(self.seen("subagent_finished"), [
            {"type": "subagent_finished", "parentSessionId": "sess_1", "subagentId": "sess_1/ann", "workspace": workspace,
             "background": False, "outcome": "completed", "text": "Seen."}])
        ends = {"type": "session_end", "workspace": workspace, "reason": "closed", "turns": 1}
        self.assertEqual(self.seen("session_end"), [{**ends, "sessionId": "sess_1", "spawned": False},
                                                    {**ends, "sessionId": "sess_1/ann", "spawned": True}])

    def test_one_in_the_background_hands_back_after_each_work(self):
        self.spy("subagent_finished", "pre_turn")
        text = self.play(
            turn("Go.", {"calls": [agent("bob", "One.", "First.", background=True)]}, "Well."),
            {"wait": "bob", "replies": [{"text": "Heard of the first."}]},
            turn("On.", {"calls": [agent("bob", "Two.", "Second.")]}, "Fine."),
            {"wait": "bob"},
            {"wait": "bob"},
        )
        self.assertInOrder(text, r"\| bob is at work in the background$", r"^  Well\.$", r"^  bob:   First\.$",
                           r"^> bob hands back: First\.$", r"^  Heard of the first\.$", r"^> On\.$", r"^  Fine\.$",
                           r"^  bob:   Second\.$", r"^> bob hands back: Second\.$", r"\(bob has handed nothing back\)$")
        finished = self.seen("subagent_finished")
        self.assertEqual([(one["background"], one["text"]) for one in finished], [(True, "First."), (True, "Second.")])
        # A delivery is no prompt: no pre_turn hook has seen it.
        prompts = [(one["prompt"], one["spawned"]) for one in self.seen("pre_turn")]
        self.assertEqual(prompts, [("Go.", False), ("On.", False), ("One.", True), ("Two.", True)])

    def test_works_that_are_due_together_are_handed_back_once(self):
        self.spy("subagent_finished")
        text = self.play(
            turn("Go.", {"calls": [agent("bob", "One.", "First.", background=True), agent("bob", "Two.", "Second.")]}, "Well."),
            {"wait": "bob"},
        )
        self.assertInOrder(text, r"^  bob:   First\.$", r"^  bob:   Second\.$", r"^> bob hands back: Second\.$")
        self.assertEqual([one["text"] for one in self.seen("subagent_finished")], ["Second."])

    def test_nothing_that_is_handed_back_gets_lost(self):
        self.hook("subagent_finished", "sign", 'touch "$(dirname "$0")/finished"')
        finished = self.folder / "home/hooks/finished"
        text = self.play(
            turn("Go.", {"calls": [agent("bob", "One.", "First.", background=True),
                                   call("bash", command=f"until [ -e '{finished}' ]; do sleep 0.01; done")]}, "Well."),
            turn("On.", {"calls": [agent("bob", "Two.", "Second.")]}, "Fine."),
            {"wait": "bob", "replies": [{"text": "Heard of both."}]},
        )
        self.assertInOrder(text, r"^  Fine\.$", r"^> bob hands back: First\.$", r"^> bob hands back: Second\.$", r"^  Heard of both\.$")

    def test_one_that_is_stopped_hands_nothing_back_but_may_go_on(self):
        self.spy("subagent_finished")
        text = self.play(
            turn("Go.",
                 {"calls": [agent("bob", "One.", {"calls": [call("bash", command="touch at_work; sleep 1000")]}, "Never said.",
                                  background=True),
                            call("bash", command="until [ -e at_work ]; do sleep 0.01; done")]},
                 "Well."),
            {"stop": "bob"},
            {"stop": "bob"},
            {"wait": "bob", "replies": [{"text": "Never said."}]},
            {"stop": "bob"},
            turn("On.", {"calls": [agent("bob", "Two.", "Second.")]}, "Fine."),
            {"wait": "bob"},
        )
        self.assertInOrder(text, r"^  Well\.$", r"\(bob is stopped\)$", r"^  bob: > One\.$", r"\(bob has handed nothing back\)$",
                           r"1 reply of the script not played", r"\(bob is not at work\)$", r"^> bob hands back: Second\.$")
        self.assertNotIn("Never said.", text)
        self.assertEqual([one["text"] for one in self.seen("subagent_finished")], ["Second."])

    def test_one_that_is_closed_at_work_hands_nothing_back(self):
        self.spy("subagent_finished", "session_end")
        text = self.play(
            turn("Go.",
                 {"calls": [agent("bob", "One.", {"calls": [call("bash", command="touch at_work; sleep 1000")]}, "Never said.",
                                  background=True),
                            call("bash", command="until [ -e at_work ]; do sleep 0.01; done")]},
                 "Well."))
        self.assertInOrder(text, r"^  Well\.$", r"^  bob: > One\.$", r"\(bob was still at work\)$")
        self.assertEqual(self.seen("subagent_finished"), [])
        self.assertEqual([one["spawned"] for one in self.seen("session_end")], [False, True])

    def test_one_that_fails_hands_back_an_error(self):
        self.spy("subagent_finished")
        self.hook("pre_turn", "guard", """case $event in *Secret*) echo '{"power":"block","reason":"no secrets"}' ;;
*) echo '{"power":"observe"}' ;; esac""")
        text = self.play(turn("Go.", {"calls": [agent("ann", "Look.", {"text": "Alas.", "stop": "error"}),
                                                agent("eve", "Secret.", "Never said.")]}, "Well."))
        self.assertInOrder(text, r"^  \* agent  ann", r"\| Alas\.$", r"^  \* agent  eve",
                           r"\| pre_turn hook blocked this turn: no secrets$")
        self.assertEqual({(one["outcome"], one["text"]) for one in self.seen("subagent_finished")},
                         {("error", "Alas."), ("error", "pre_turn hook blocked this turn: no secrets")})

    def test_a_subagent_may_start_one_of_its_own(self):
        self.spy("subagent_finished")
        text = self.play(turn("Go.", {"calls": [agent("ann", "Ask.", {"calls": [agent("joe", "Look.", "Seen.")]}, "Asked.")]}, "Well."))
        self.assertInOrder(text, r"^  ann: > Ask\.$", r"^  ann:   joe:   Seen\.$", r"^  ann:   \* agent  joe: Look\.$", r"^  ann:   Asked\.$")
        self.assertEqual({(one["parentSessionId"], one["subagentId"]) for one in self.seen("subagent_finished")},
                         {("sess_1", "sess_1/ann"), ("sess_1/ann", "sess_1/ann/joe")})

    def test_hooks_decide_about_the_call_itself(self):
        self.hook("pre_tool_use", "guard", """case $event in
*'"name":"bob"'*) echo '{"power":"block","reason":"nobody leaves"}' ;;
*'"name":"ann"'*) echo '{"power":"mutate","input":{"name":"ann","prompt":"Look twice."}}' ;;
*) echo '{"power":"mutate","input":{}}' ;;
esac""")
        text = self.play(
            turn("Go.", {"calls": [agent("bob", "One.", "Never said.", background=True), agent("ann", "Look.", "Seen."),
                                   agent("eve", "Look.", "Never said.")]}, "Well."),
            {"wait": "bob"},
        )
        self.assertInOrder(text, r"^  ann: > Look twice\.$", r"blocked by guard: nobody leaves$", r"\| Seen\.$",
                           r'agent: the input has no string "name"$', r"\(bob has handed nothing back\)$")
        self.assertNotIn("Never said.", text)

    def test_an_interrupt_stops_them_too(self):
        self.spy("subagent_finished", "session_end")
        script = self.script(turn("Go.", {"calls": [
            agent("bob", "One.", {"calls": [call("bash", command="sleep 1000")]}, "Never said.", background=True),
            agent("ann", "Two.", {"calls": [call("bash", command=f"echo $$ >'{self.folder}/at_work'; sleep 1000")]}, "Never said."),
        ]}, "Never said."))
        agent_process = subprocess.Popen([AGENT, script, "--home", self.folder / "home"],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: (self.folder / "at_work").exists())
        agent_process.send_signal(signal.SIGINT)
        text, errors = agent_process.communicate(timeout=60)
        self.assertEqual((agent_process.returncode, errors), (130, ""))
        self.assertInOrder(text, r"^  ann: > Two\.$", r"^  bob: > One\.$", r"\(bob was still at work\)$", r"^! interrupted$")
        self.assertEqual(self.seen("subagent_finished"), [])
        self.assertEqual([one["sessionId"] for one in self.seen("session_end")], ["sess_1", "sess_1/ann", "sess_1/bob"])


class extensions(Case):
    def configure(self, own_config, path=HERE.parent / "extensions/lookout"):
        config = self.folder / "home/config.json"
        document = json.loads(config.read_text()) if config.exists() else {}
        document["extensions"] = [{"path": str(path), **({} if own_config is None else {"config": own_config})}]
        config.write_text(json.dumps(document))

    def test_it_is_not_there_unless_it_is_named(self):
        text = self.play(turn("Go.", {"calls": [call("bash", command="(")]}, "It is probably fine."))
        self.assertInOrder(text, r"\| .*syntax error", r"probably fine\.$")
        self.assertNotIn("lookout", text)

    def test_it_has_rows_of_its_own_unless_its_configuration_has_others(self):
        for rows, spotted, nudge in ((None, "Spotted", "Sent back to look again"),
                                     ({"spotted": "Ahoy", "nudge": "Dig"}, "Ahoy", "Dig")):
            self.configure({"sightings": {"whale": "It is white."}, **({"rows": rows} if rows else {})})
            text = self.play(turn("A whale?", "It is probably grey.", "It is white."))
            self.assertInOrder(text, rf"^  \+ {spotted}: whale · lookout$", r"probably grey\.$", rf"^  \+ {nudge} · lookout$",
                               r"It is white\.$", r"^seen by the lookout$", r"sess_1: turn 1: completed$",
                               r"sess_1: closed, turns: 1$")

    def test_it_runs_after_the_hooks_of_the_home(self):
        self.configure(None)
        self.hook("pre_tool_use", "repair", """echo '{"power":"mutate","input":{"command":"echo fine"}}'""")
        text = self.play(turn("Go.", {"calls": [call("bash", command="(")]}, "Well."))
        self.assertInOrder(text, r"input rewritten by repair$", r"\| fine$")

    def test_a_coroutine_of_it_blocks_what_the_shell_cannot_read(self):
        self.configure(None)
        text = self.play(turn("Go.", {"calls": [call("bash", command="touch ran; ("), call("bash", command="ls; echo 'a (b'")]}, "Well."))
        self.assertInOrder(text, r"blocked by lookout: the shell cannot read this command$", r"syntax error", r"\| a \(b$")
        self.assertNotIn("| ran", text)

    def test_a_bare_session_does_not_know_it(self):
        self.configure({"sightings": {"whale": "It is white."}})
        text = self.play(turn("A whale?", "It is probably grey."), session={"bare": True})
        self.assertNotIn("lookout", text)

    def test_what_it_cannot_use_is_refused(self):
        def refuse(own_config, says):
            self.configure(own_config)
            ended = run(self.script(turn("Go.", "Well.")), "--home", self.folder / "home")
            self.assertEqual((ended.returncode, ended.stdout), (2, b""))
            self.assertEqual(ended.stderr.decode(), f'belay_agent: extension "lookout": {says}\n')

        refuse([], "its configuration must be an object, and is []")
        refuse({"row": {}}, "its configuration has an unknown key, row")
        refuse({"rows": {"spoted": "x"}}, "its configuration has an unknown key, rows.spoted")
        refuse({"rows": {"nudge": 7}}, "rows.nudge must be a text, and is 7")
        refuse({"rows": {"nudge": "a\nb"}}, 'rows.nudge must be one line of at most 200 characters, and is "a\\nb"')
        refuse({"sightings": {"whale": ""}}, 'sightings.whale must be a text, and is ""')
        refuse({"sightings": {"w" * 200: "x"}}, f"the row of sightings.{'w' * 200} must be one line of at most 200 characters, "
               f'and is "Spotted: {"w" * 200}"')

    def test_executables_of_an_extension_run_after_those_of_the_home_and_block_nothing_by_failing(self):
        self.hook("pre_tool_use", "own", """echo own >>"$(dirname "$0")/seen"; echo '{"power":"observe"}'""")
        other = self.folder / "other"
        other.write_text(f"#!/bin/sh\necho other >>'{self.folder}/home/hooks/seen'\nexit 3\n")
        other.chmod(0o755)
        entry = {"phase": "pre_tool_use", "argv": [str(other)], "timeout_ms": 20000}
        self.configure({"hooks": [entry]}, HERE.parent / "extensions/command-hooks")
        text = self.play(turn("Go.", {"calls": [call("bash", command="echo ran")]}, "Well."))
        self.assertInOrder(text, r"! vera\.command-hooks failed: .*status 3; ignored$", r"\| ran$")
        self.assertEqual((self.folder / "home/hooks/seen").read_text(), "own\nother\n")

        self.configure({"hooks": [entry, {**entry, "argv": ["other"]}]}, HERE.parent / "extensions/command-hooks")
        ended = run(self.script(turn("Go.", "Well.")), "--home", self.folder / "home")
        self.assertEqual((ended.returncode, ended.stdout), (2, b""))
        self.assertRegex(ended.stderr.decode(), r"vera\.command-hooks.*hooks\[1\].*absolute path.*other")

    def test_a_path_of_no_extension_is_refused(self):
        self.configure(None, "/nonexistent/lookout")
        ended = run(self.script(turn("Go.", "Well.")), "--home", self.folder / "home")
        self.assertEqual((ended.returncode, ended.stdout), (2, b""))
        self.assertRegex(ended.stderr.decode(), r"extensions\[0\]\.path: there is no extension at /nonexistent/lookout\n\Z")


class modules(Case):
    """Those of example/modules, one after the other, and what the agent does for modules."""

    def test_guard(self):
        text = self.play(turn("Go.", {"calls": [call("bash", command="rm -rf /tmp/x"), call("bash", command="echo ran")]}, "Well."),
                         modules=["guard"])
        self.assertInOrder(text, r"^  modules +1$", r"bash  rm -rf", r"\| blocked by policy$", r"\| ran$")

    def test_permission_gate_blocks_without_a_person(self):
        text = self.play(turn("Go.", {"calls": [call("bash", command="rm -rf d; echo ran")]}, "Well."), modules=["permission_gate"])
        self.assertInOrder(text, r"\| rm -rf blocked \(no UI\)$")
        self.assertNotIn("| ran", text)

    def test_permission_gate_does_what_the_person_says(self):
        commands = [f"rm -rf no; echo {answer}" for answer in ("yes", "y", "no", "nothing", "neither")]
        text = self.play(turn("Go.", {"calls": [call("bash", command=one) for one in commands]}, "Well.",
                              answers=["yes", "y", "no", None]),
                         modules=["permission_gate"])
        self.assertEqual(re.findall(r"^      \| (\w+ \w+ \w+|\w+)$", text, re.MULTILINE)[-3:],
                         ["user denied command"] * 3)
        self.assertInOrder(text, *[r"^  \? Dangerous command$"] * 5, r"\| yes$", r"\| y$")
        self.assertEqual(text.count("(no answer)"), 2)

    def test_ask_first(self):
        calls = [call("write", path=path, content="x") for path in ("one", "two", "three")] + [call("bash", command="ls")]
        text = self.play(turn("Go.", {"calls": calls}, "Well.", answers=["yes", "no", None]), modules=["ask_first"])
        self.assertEqual(re.findall(r"^    (\w+) \(yes or no\)$", text, re.MULTILINE), ["one", "two", "three"])
        self.assertEqual(text.count("| user wants nothing written"), 2)
        self.assertInOrder(text, r"\| wrote 1 bytes to one$", r"bash  ls$", r"^ +\| one$")

    def test_protected_paths(self):
        paths = [".env", "a/../.git/config", "deep/.ssh/key", "node_modules/x.js", "env", "a.env/b"]
        text = self.play(turn("Go.", {"calls": [call("write", path=path, content="x") for path in paths]}, "Well.", answers=[None]),
                         modules=["protected_paths"])
        self.assertEqual(re.findall(r'\| Path "(.*)" is protected$', text, re.MULTILINE), paths[:4])
        self.assertEqual(re.findall(r"^! Blocked write to (.*)$", text, re.MULTILINE), paths[:4])
        self.assertEqual(text.count("| wrote 1 bytes"), 2)

    def test_redactor(self):
        text = self.play(turn("Go.", {"calls": [call("read", path="k"), call("bash", command="cat k"), call("read", path="API_KEY=1")]},
                              "Well."),
                         modules=["redactor"], files={"k": "A=1\nAPI_KEY=sk-1 API_KEY=sk-2\nAPI_KEY=\n"})
        self.assertInOrder(text, r"read  k$", r"\| A=1$", r"\| API_KEY=\[REDACTED\] API_KEY=\[REDACTED\]$", r"\| API_KEY=$",
                           r"cat k$", r"\| API_KEY=sk-1 API_KEY=sk-2$", r"API_KEY=1: No such file")

    def test_context_filter_hides_what_is_for_debugging_alone(self):
        def seen_by_the_model(*modules):
            self.play(turn("Go.", "Well."), turn("/note The pump squeaks."), turn("On.", "Yes."),
                      modules=["notes", *modules, "recorder"])
            return [one.get("content") for one in self.events("context")[-1]["messages"]]

        noted = [{"type": "text", "text": "The pump squeaks."}]
        self.assertEqual(seen_by_the_model(), ["Go.", "Well.", noted, "On."])
        self.assertEqual(seen_by_the_model("context_filter"), ["Go.", "Well.", "On."])

    def test_a_message_is_shown_by_its_renderer_and_kept_in_the_session(self):
        text = self.play(turn("/note The pump squeaks."), modules=["notes"])
        self.assertInOrder(text, r"^> /note The pump squeaks\.$", r"^  \+ noted: The pump squeaks\.$")
        entries = self.session_file("sess_1")[1:]
        self.assertEqual([one["type"] for one in entries], ["custom", "custom_message"])
        self.assertEqual(entries[0]["data"], {"text": "The pump squeaks."})
        self.assertEqual(entries[1]["customType"], "debug-only")

    def test_a_message_may_begin_a_turn(self):
        text = self.play(turn("/tell Say aye.", "Aye."), modules=["notes", "recorder"])
        self.assertInOrder(text, r"^> /tell Say aye\.$", r"^  \+ custom-message$", r"^  \+ Say aye\.$", r"^  Aye\.$")
        self.assertEqual([one["event"] for one in self.events()],
                         ["session_start", "agent_start", "turn_start", "context", "turn_end", "agent_end", "session_shutdown"])

    def test_handoff_goes_on_in_a_new_session(self):
        text = self.play(turn("Go.", "Well."), turn("/handoff"), turn("On.", "Yes."), modules=["handoff", "recorder"])
        self.assertInOrder(text, r"^  Well\.$", r"^> /handoff$", r"^session sess_1\.2$", r"^> On\.$", r"^  Yes\.$")
        heading, first, *_ = self.session_file("sess_1.2")
        self.assertEqual(heading["parentSession"], str(self.folder / "home/runtime/sessions/sess_1.jsonl"))
        self.assertEqual(first["message"]["content"], [{"type": "text", "text": "Continue from prior session summary."}])
        self.assertEqual(first["message"]["role"], "user")
        self.assertGreater(first["message"]["timestamp"], 1_600_000_000_000)
        self.assertEqual([one["event"] for one in self.events("session_before_switch", "session_switch", "session_shutdown")],
                         ["session_before_switch", "session_switch", "session_shutdown"])
        self.assertEqual([one.get("content") for one in self.events("context")[-1]["messages"]],
                         [[{"type": "text", "text": "Continue from prior session summary."}], "On."])

    def test_rewind_takes_the_last_prompt_back(self):
        text = self.play(turn("One.", "First."), turn("Two.", "Second."), turn("/rewind", answers=["2"]), turn("/rewind", answers=["rewind"]),
                         turn("Three.", "Third."), modules=["rewind", "recorder"])
        self.assertInOrder(text, r"^  \? Take back\?$", r"1 rewind  in a new session$", r"2 stay$", r"> 2$", r"> rewind$",
                           r"^session sess_1\.2$", r"\(Taken back\)$", r"^> Three\.$")
        self.assertEqual([one["content"] for one in self.events("context")[-1]["messages"]], ["One.", "First.", "Three."])
        self.assertEqual([one["event"] for one in self.events("session_before_branch", "session_branch")],
                         ["session_before_branch", "session_branch"])

    def test_goto_leaves_a_summary_of_what_was_left(self):
        text = self.play(turn("One.", "First."), turn("Two.", "Second."), turn("/goto", answers=["entry_2"]), turn("/goto entry_9"),
                         turn("Three.", "Third."), modules=["rewind", "recorder"])
        self.assertInOrder(text, r"^  \? Which entry\?$", r"> entry_2$", r"^! extension command:goto failed at command: there is no entry entry_9$")
        self.assertEqual([one["content"] for one in self.events("context")[-1]["messages"]],
                         ["One.", "First.", "(A summary of what was left.)", "Three."])
        self.assertEqual([one["event"] for one in self.events("session_before_tree", "session_tree")], ["session_before_tree", "session_tree"])

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_git_checkpoint_keeps_what_was_there_before_each_turn(self):
        workspace = self.folder / "workspace"
        workspace.mkdir()
        def git(*arguments):
            return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments], cwd=workspace, check=True,
                                  capture_output=True, text=True).stdout
        git("init", "--quiet")
        git("config", "user.name", "n")
        git("config", "user.email", "e@x")
        (workspace / "log").write_text("old\n")
        git("add", "log")
        git("commit", "--quiet", "-m", "first")
        (workspace / "log").write_text("mine\n")
        self.play(turn("Go.", {"calls": [call("bash", command="echo its >log")]}, "Well."),
                  modules=["git_checkpoint"], options=["--workspace", workspace])
        kept = [one["data"] for one in self.session_file("sess_1") if one["type"] == "custom"]
        self.assertEqual([one["turn"] for one in kept], [0, 1])
        self.assertEqual([git("show", one["commit"] + ":log") for one in kept], ["mine\n", "its\n"])
        self.assertEqual((workspace / "log").read_text(), "its\n")
        self.assertEqual(git("log", "--format=%s"), "first\n")

    def test_status_line_counts_turns_and_tools_for_a_person(self):
        text = self.play(turn("Go.", {"calls": [call("bash", command="true"), call("bash", command="true")]}, "Well.", answers=[]),
                         turn("On.", "Yes.", answers=["unheard"]), modules=["status_line"])
        self.assertInOrder(text, r"^  Well\.$", r"^= turn 2, 2 tools$", r"^  Yes\.$", r"^= turn 3, 2 tools$",
                           r"\(1 answer of the script not given\)$")
        self.assertNotIn("= turn", self.play(turn("Go.", "Well."), modules=["status_line"]))

    def test_every_event_that_the_agent_has_an_occasion_for(self):
        self.play(turn("Go.", {"calls": [call("bash", command="true")], "compact": {"reason": "automatic", "tokens": 1}}, "Well."),
                  {"compact": {"tokens": 2}}, modules=["recorder"])
        self.assertEqual(
            [one["event"] for one in self.events()],
            ["session_start", "before_agent_start", "agent_start",
             "turn_start", "context", "tool_call", "tool_result", "turn_end",
             "auto_compaction_start", "session_before_compact", "session_compacting", "session_compact", "auto_compaction_end",
             "turn_start", "context", "turn_end", "agent_end",
             "session_before_compact", "session_compacting", "session_compact", "session_shutdown"])
        self.assertEqual(self.events("before_agent_start")[0]["prompt"], "Go.")
        self.assertEqual([one["turnIndex"] for one in self.events("turn_start")], [0, 1])
        self.assertEqual(self.events("agent_end")[0]["messages"][-1]["content"], "Well.")

    def test_turn_limit_stops_a_run_and_not_the_conversation(self):
        again = {"calls": [call("bash", command="true")]}
        text = self.play(turn("Go.", again, again, again, "Never said.", answers=[]), turn("On.", "Yes.", answers=["unheard"]),
                         modules=["turn_limit", "recorder"])
        self.assertInOrder(text, r"^! The limit of turns is reached$", r"\(a module has aborted the run\)$",
                           r"\(2 replies of the script not played\)$", r"^> On\.$", r"^  Yes\.$")
        self.assertNotIn("Never said.", text)
        self.assertEqual([one["turnIndex"] for one in self.events("turn_start")], [0, 1, 2, 0])
        self.assertEqual(len(self.events("agent_end")), 2)

    def test_a_prompt_that_a_hook_blocks_is_no_run(self):
        self.hook("pre_turn", "guard", """echo '{"power":"block","reason":"no"}'""")
        self.play(turn("Go.", "Never said."), modules=["recorder"])
        self.assertEqual([one["event"] for one in self.events()], ["session_start", "session_shutdown"])

    def test_extensions_come_before_hooks_and_the_home_s_own_before_both(self):
        (self.folder / "home/extensions").mkdir()
        (self.folder / "home/extensions/notes.so").symlink_to(module("notes"))
        script = self.script(turn("Go.", {"calls": [call("bash", command="rm -rf d")]}, "Well."))
        def first_to_block(*options):
            ended = run(script, "--home", self.folder / "home", "--trace", *options)
            self.assertEqual((ended.returncode, ended.stderr), (0, b""))
            return re.findall(r"^  ~ tool_call: .*/(\w+)\.so", ended.stdout.decode(), re.MULTILINE)

        guard, gate = module("guard"), module("permission_gate")
        self.assertEqual(first_to_block("--hook", guard, "--extension", gate), ["permission_gate", "guard"])
        self.assertEqual(first_to_block(f"--extension={guard}", "--hook", gate, "-e", gate), ["guard", "permission_gate"])
        self.assertEqual(first_to_block("--no-extensions", "--hook", guard), [])
        self.assertInOrder(self.play(turn("/note x")), r"^  modules +1$", r"^  \+ noted: x$")
        self.assertInOrder(self.play(turn("/note x", "What?"), options=["--no-extensions"]), r"^> /note x$", r"^  What\?$")

    def test_a_module_that_cannot_be_loaded_is_named_and_the_others_are_loaded(self):
        (self.folder / "text.so").write_text("no library")
        text = self.play(turn("/note x"), options=["-e", "/nonexistent/x.so", "-e", self.folder / "text.so"], modules=["notes"])
        self.assertInOrder(text, r"^! .*Failed to load extension: .*/nonexistent/x\.so", r"^! .*Failed to load extension: .*text\.so", r"noted: x$")
        ended = run(self.script(turn("/note x")), "--home", self.folder / "home", "-e", module("recorder"), "-e", module("notes"))
        self.assertInOrder(ended.stdout.decode(), r"^! .*/recorder\.so: Failed to load extension: RECORDER_FILE names no file$",
                           r"^  modules +1$", r"noted: x$")

    def test_a_command_that_two_modules_register_is_told_once(self):
        other = self.folder / "other.so"
        shutil.copy(module("notes"), other)
        text = self.play(turn("/note x"), modules=["notes"], options=["--hook", other])
        self.assertEqual(len(re.findall(r"^! extension .*other\.so registers the command /note,", text, re.MULTILINE)), 1)
        self.assertEqual(text.count("+ noted: x"), 1)

    def test_what_approval_says_no_module_hears_of(self):
        (self.folder / "home/config.json").write_text(json.dumps({"tools": {"approvalMode": "ask", "approval": {"write": "deny"}}}))
        calls = {"calls": [call("bash", command="echo ran"), call("bash", command="echo again"), call("write", path="a", content="x"),
                           call("read", path="b")]}
        text = self.play(turn("Go.", calls, "Well.", answers=["Approve", "Deny"]), modules=["recorder"], files={"b": "b"})
        self.assertInOrder(text, r"1 Approve$", r"2 Deny$", r"> Approve$", r"> Deny$", r"\| ran$", r"\| Tool call denied by user: bash$",
                           r"\| Tool call denied by user: write$", r"\| b$")
        self.assertEqual([one["toolName"] for one in self.events("tool_call", "tool_result")], ["bash", "bash", "read", "read"])
        self.assertInOrder(self.play(turn("Go.", calls, "Well."), files={"b": "b"}), r"\| Tool call denied by user: bash$", r"\| b$")

    def test_a_subagent_has_the_modules_too_and_no_person(self):
        text = self.play(turn("Go.", {"calls": [agent("ann", "/note x", {"calls": [call("bash", command="rm -rf d")]}, "Done.")]}, "Well.",
                              answers=["yes"]),
                         modules=["permission_gate", "notes"])
        self.assertInOrder(text, r"^  ann: > /note x$", r"^  ann:       \| rm -rf blocked \(no UI\)$", r"\(1 answer of the script not given\)$")
        self.assertNotIn("noted:", text)

    def test_an_interrupt_still_tells_modules_of_the_end(self):
        script = self.script(turn("Go.", {"calls": [call("bash", command=f"touch '{self.folder}/at_work'; sleep 1000")]}, "Never said."))
        agent_process = subprocess.Popen([AGENT, script, "--home", self.folder / "home", "-e", module("recorder")], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, env={**os.environ, "RECORDER_FILE": str(self.folder / "events")})
        wait_until(lambda: (self.folder / "at_work").exists())
        agent_process.send_signal(signal.SIGINT)
        _, errors = agent_process.communicate(timeout=60)
        self.assertEqual((agent_process.returncode, errors), (130, ""))
        self.assertEqual([one["event"] for one in self.events()][-2:], ["tool_call", "session_shutdown"])

    def sleeping(self, seconds):
        """How many processes sleep for that long."""
        wanted, count = f"sleep\0{seconds}\0".encode(), 0
        for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                count += file.read_bytes().endswith(wanted)
            except OSError:
                pass  # it has ended
        return count

    def test_what_a_module_has_under_way_ends_with_the_agent(self):
        seconds = f"1000.{os.getpid()}"
        see = f"until cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q 'slee[p] {seconds}'; do sleep 0.01; done; echo seen"
        text = self.play(turn(f"/work {seconds}"), turn("Go.", {"calls": [call("bash", command=see)]}, "Well."), modules=["difficult"])
        self.assertInOrder(text, r"\| seen$", r"^  Well\.$")
        wait_until(lambda: self.sleeping(seconds) == 0)

    def test_what_a_module_has_under_way_ends_with_an_interrupted_agent(self):
        seconds = f"2000.{os.getpid()}"
        self.hook("session_end", "slow", f"touch '{self.folder}/ending'; sleep 1000")
        script = self.script(turn(f"/work {seconds}"), turn("Go.", {"calls": [call("bash", command="sleep 1000")]}, "Never said."))
        agent_process = subprocess.Popen([AGENT, script, "--home", self.folder / "home", "-e", module("difficult")],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent_process.kill)
        wait_until(lambda: self.sleeping(seconds) == 1)
        agent_process.send_signal(signal.SIGINT)
        wait_until(lambda: (self.folder / "ending").exists())
        agent_process.send_signal(signal.SIGINT)
        text, errors = agent_process.communicate(timeout=9)  # sooner than without the second one
        self.assertEqual((agent_process.returncode, errors), (130, ""))
        self.assertInOrder(text, r"^! interrupted$", r"^! hooks that were cut off: 1$")
        wait_until(lambda: self.sleeping(seconds) == 0)

    def test_what_is_no_object_hides_nothing_from_redactor_and_context_filter(self):
        text = self.play(turn("Go.", {"calls": [call("read", path="k")]}, "Well."), turn("/note The pump squeaks."), turn("On.", "Yes."),
                         modules=["difficult", "redactor", "notes", "context_filter", "recorder"], files={"k": "API_KEY=sk-1\n"})
        self.assertInOrder(text, r"read  k$", r"\| API_KEY=\[REDACTED\]$", r"noted: The pump")
        self.assertNotIn("sk-1", text)
        messages = self.events("context")[-1]["messages"]
        self.assertEqual(messages[0], "bare text")
        self.assertEqual(messages[1]["content"], "Go.")
        self.assertNotIn("custom", [one["role"] for one in messages[1:]])

    def test_a_session_that_cannot_be_set_up_is_not_gone_to(self):
        text = self.play(turn("Go.", "Well."), turn("/fail"), turn("On.", "Yes."), modules=["difficult", "recorder"])
        self.assertInOrder(text, r"^> /fail$", r"^! extension command:fail failed at command: no paper$", r"^> On\.$")
        self.assertNotIn("session sess_1.2", text)
        self.assertEqual([one["message"]["content"] for one in self.session_file("sess_1")[1:]], ["Go.", "Well.", "On.", "Yes."])
        self.assertEqual(self.events("session_switch"), [])

    def test_a_person_writes_a_line_in_the_editor(self):
        text = self.play(turn("/write", answers=["Come home."]), turn("/write", answers=[None]), modules=["difficult"])
        self.assertInOrder(text, r"^  \? A letter$", r"Dear all$", r"written: Come home\.", r"nothing was written")

    def test_a_person_at_a_terminal_answers_dialogs(self):
        script = self.script(turn("Go.", {"calls": [call("bash", command="rm -rf no; echo one"), call("bash", command="rm -rf no; echo two")]},
                                  "Well."), turn("/rewind"), turn("/goto"))
        try:
            person, terminal = pty.openpty()
        except OSError:
            self.skipTest("there are no pseudo-terminals")
        agent_process = subprocess.Popen([AGENT, script, "--home", self.folder / "home", "-e", module("permission_gate"), "-e", module("rewind")],
                                         stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, "NO_COLOR": "1"})
        os.close(terminal)
        shown = b""
        at = 0  # what comes before was looked for
        def read_until(part):
            nonlocal shown, at
            deadline = time.monotonic() + 60
            while part not in shown[at:] and time.monotonic() < deadline:
                if select.select([person], [], [], 1)[0]:
                    shown += os.read(person, 4096)
            self.assertIn(part, shown[at:])
            at = shown.index(part, at) + len(part)

        read_until(b"(yes or no)")
        os.write(person, b"yes\n")
        read_until(b"(yes or no)")
        os.write(person, b"\n")
        read_until(b"2 stay")
        os.write(person, b"1\n")
        read_until(b"Taken back")
        read_until(b"Which entry?")
        os.write(person, b"entry_9\n")
        read_until(b"there is no entry entry_9")
        self.assertEqual(agent_process.wait(timeout=60), 0)
        os.close(person)
        text = shown.decode().replace("\r", "")
        self.assertInOrder(text, r"\| one$", r"\| user denied command$")


class both_systems(Case):
    """Hooks stand outside, modules inside."""

    def setUp(self):
        super().setUp()
        record = f""">>'{self.folder}/events'; echo '{{"power":"observe"}}'"""
        self.hook("pre_tool_use", "before", f"""case $event in
*secret*) echo '{{"power":"block","reason":"no secrets"}}'; echo '{{"event":"pre_tool_use"}}' >>'{self.folder}/events'; exit ;;
*polite*) echo '{{"power":"mutate","input":{{"command":"echo please"}}}}'; echo '{{"event":"pre_tool_use"}}' >>'{self.folder}/events'; exit ;;
*given*) echo '{{"power":"replace","result":{{"content":[{{"type":"text","text":"as given"}}],"isError":false}}}}'
         echo '{{"event":"pre_tool_use"}}' >>'{self.folder}/events'; exit ;;
esac
echo '{{"event":"pre_tool_use"}}' {record}""")
        self.hook("post_tool_use", "after", f"""printf '{{"event":"post_tool_use","payload":%s}}\\n' "$event" {record}""")

    def order(self, one, *modules, **others):
        self.text = self.play(turn("Go.", {"calls": [one]}, "Well."), modules=modules, **others)
        return [line["event"] for line in self.events("pre_tool_use", "tool_call", "tool", "tool_result", "post_tool_use")]

    def result(self):
        seen = self.events("post_tool_use")[-1]["payload"]["result"]
        return {"content": seen["content"], "isError": seen["isError"]}

    def test_around_a_call(self):
        tool = f"""echo '{{"event":"tool"}}' >>'{self.folder}/events'; echo done"""
        self.assertEqual(self.order(call("bash", command=tool), "recorder"),
                         ["pre_tool_use", "tool_call", "tool", "tool_result", "post_tool_use"])
        self.assertEqual(self.result(), {"content": [{"type": "text", "text": "done\n"}], "isError": False})

    def test_no_module_sees_a_call_that_a_hook_blocks(self):
        self.assertEqual(self.order(call("bash", command="echo secret"), "recorder"), ["pre_tool_use"])
        self.assertInOrder(self.text, r"blocked by before: no secrets$")

    def test_no_module_sees_a_call_that_the_host_denies(self):
        self.assertEqual(self.order(call("bash", "not today", command="echo x"), "recorder"), ["pre_tool_use"])
        self.assertInOrder(self.text, r"denied: not today$")

    def test_no_module_sees_a_call_whose_result_a_hook_gives(self):
        self.assertEqual(self.order(call("bash", command="echo given"), "recorder"), ["pre_tool_use", "post_tool_use"])

    def test_hooks_after_it_see_an_error_if_a_module_blocks_it(self):
        self.assertEqual(self.order(call("bash", command="rm -rf d"), "guard", "recorder"), ["pre_tool_use", "post_tool_use"])
        self.assertEqual(self.result(), {"content": [{"type": "text", "text": "blocked by policy"}], "isError": True})

    def test_hooks_after_it_see_an_error_if_approval_denies_it(self):
        config = self.folder / "home/config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "tools": {"approval": {"bash": "deny"}}}))
        self.assertEqual(self.order(call("bash", command="true"), "recorder"), ["pre_tool_use", "post_tool_use"])
        self.assertTrue(self.result()["isError"])
        self.assertTrue(self.result()["content"][0]["text"].startswith("Tool call denied by user: bash"))

    def test_modules_see_the_input_that_hooks_have_changed(self):
        self.order(call("bash", command="echo polite"), "recorder")
        self.assertEqual([one["input"] for one in self.events("tool_call", "tool_result")], [{"command": "echo please"}] * 2)

    def test_hooks_after_it_see_the_result_that_modules_have_changed(self):
        self.order(call("read", path="k"), "redactor", files={"k": "API_KEY=sk-1"})
        self.assertEqual(self.result()["content"], [{"type": "text", "text": "API_KEY=[REDACTED]"}])


class bad_input(Case):
    def refuse(self, *arguments, says):
        ended = run(*arguments)
        self.assertEqual(ended.returncode, 2, ended)
        self.assertEqual(ended.stdout, b"")
        self.assertRegex(ended.stderr.decode(), r"\Abelay_agent: " + says + r"\n\Z")

    def refuse_text(self, text, says):
        file = self.folder / "script.json"
        file.write_text(text)
        self.refuse(file, says=re.escape(str(file)) + says)

    def refuse_script(self, document, says):
        self.refuse_text(json.dumps(document), ": " + says)

    def refuse_entry(self, entry, says):
        self.refuse_script({"conversation": [entry]}, r"conversation\[0\]" + says)

    def refuse_config(self, text, says):
        (self.folder / "home/config.json").write_text(text)
        self.refuse(self.script(turn("Go.", "Well.")), "--home", self.folder / "home", says=says)

    def test_arguments(self):
        self.refuse("--hoem", "x", says=r"unknown option --hoem; see --help")
        for option in ("--home", "--workspace", "--extension", "-e", "--hook"):
            for given in ([option], [option, ""], [option + "="]):
                self.refuse(*given, says=option + ": needs a path")
        self.refuse("--home", "/nonexistent/x", says=r"/nonexistent/x: No such file or directory")
        self.refuse("--home", __file__, says=r".*test\.py: is not a folder")
        self.refuse("--workspace", "/nonexistent/x", says=r"/nonexistent/x: No such file or directory")
        self.refuse("a.json", "b.json", says=r"more than one script: a\.json and b\.json")

    def test_files_that_cannot_be_read(self):
        self.refuse("/nonexistent.json", says=r"/nonexistent\.json: cannot be read as a file")
        self.refuse(self.folder, says=r".*: cannot be read as a file")

    def test_json_names_line_and_column(self):
        self.refuse_text("", r":1:1: not JSON: .*")
        self.refuse_text('{\n  "conversation": [,]\n}\n', r":2:20: not JSON: .*")
        self.refuse_text('{"conversation": []} x', r":1:22: not JSON: .*")
        self.refuse_text('{"conversation": [', r":1:19: not JSON: .*")

    def test_a_value_of_the_wrong_type_names_its_place_and_itself(self):
        self.refuse_script([], r"must be an object, and is the array \[\]")
        self.refuse_script({"conversation": 7}, r"conversation: must be an array, and is the number 7")
        self.refuse_entry(turn(7), r"\.prompt: must be a string, and is the number 7")
        self.refuse_entry(turn("x", {"calls": [call("bash") | {"input": "ls"}]}),
                          r'\.replies\[0\]\.calls\[0\]\.input: must be an object, and is the string "ls"')
        self.refuse_entry({"compact": {"tokens": -1}}, r"\.compact\.tokens: must be a whole number, 0 or more, and is the number -1")
        self.refuse_entry({"compact": {"fails": "no"}}, r'\.compact\.fails: must be true or false, and is the string "no"')
        self.refuse_script({"conversation": [], "files": {"a b": None}}, r'files\["a b"\]: must be a string, and is null')

    def test_what_is_missing_is_named(self):
        self.refuse_script({}, r'"conversation" is missing')
        self.refuse_entry({"replies": []}, r': "prompt" is missing')
        self.refuse_entry({"prompt": "x"}, r': "replies" is missing')
        self.refuse_entry(turn("x", {}), r'\.replies\[0\]: a reply needs "text" or "calls"')
        self.refuse_entry(turn("x", {"calls": [{"name": "bash"}]}), r'\.replies\[0\]\.calls\[0\]: "input" is missing')
        self.refuse_entry(turn(""), r"\.prompt: must not be empty")

    def test_an_unknown_key_or_value_gets_a_suggestion(self):
        self.refuse_script({"conversatoin": []}, r'unknown key "conversatoin"; did you mean "conversation"\?')
        self.refuse_entry(turn("x", {"call": []}), r'\.replies\[0\]: unknown key "call"; did you mean "calls"\?')
        self.refuse_entry({"sleep": 3}, r': unknown key "sleep"; it may be "prompt", "replies", "answers", "compact", .*')
        self.refuse_script({"conversation": [], "session": {"tools": ["raed"]}},
                           r'session\.tools\[0\]: unknown value "raed"; did you mean "read"\?')
        self.refuse_script({"conversation": [], "session": {"end": "never"}},
                           r'session\.end: unknown value "never"; it may be "closed", .*')

    def test_what_does_not_fit_together(self):
        self.refuse_entry({"prompt": "x", "compact": {}}, r': it has both "prompt" and "compact"')
        self.refuse_entry({"wait": "x", "prompt": "x", "replies": []}, r': it has both "prompt" and "wait"')
        self.refuse_entry({"stop": "x", "replies": []}, r': a "stop" has no "replies"')
        self.refuse_entry({"compact": {}, "answers": []}, r': a "compact" has no "answers"')
        self.refuse_entry(turn("x", answers=[7]), r"\.answers\[0\]: must be a string, and is the number 7")
        self.refuse_entry({"prompt": "x", "answer": "y", "replies": []}, r': only an "ask" has an "answer"')
        self.refuse_script({"conversation": [{"ask": "x"}, {"ask": "x", "answer": "y"}]}, r"conversation\[1\]: it has been asked before")
        self.refuse_entry(turn("x", {"text": "y", "joining": ["z"]}), r"\.replies\[0\]: .*has no \"calls\"")
        self.refuse_entry(turn("x", {"calls": [call("bash", command="true")], "stop": "length"}), r"\.replies\[0\]: .*no \"stop\"")
        self.refuse_entry(turn("x", {"calls": [call("bash") | {"id": "1"}, call("bash") | {"id": "1"}]}),
                          r'\.replies\[0\]\.calls\[1\]: another call has the id "1"')
        self.refuse(self.script(files={"../x": ""}), says=r'files\["\.\./x"\] is not in the workspace')

    def test_subagents(self):
        first = r"\.replies\[0\]\.calls\[0\]"
        def refuse_call(one, says):
            self.refuse_entry(turn("x", {"calls": [one]}), first + says)

        refuse_call(call("agent", name="a", prompt="p"), r': "replies" is missing')
        refuse_call(call("bash", command="ls") | {"replies": []}, r': only a call of "agent" has "replies"')
        refuse_call(agent("", "p", "r"), r"\.input\.name: must not be empty")
        refuse_call({**call("agent", name="a"), "replies": []}, r'\.input: "prompt" is missing')
        refuse_call(agent("a", "p", "r", background="yes"), r"\.input\.background: must be true or false, .*")
        refuse_call(agent("a", "p", "r", backgruond=True), r'\.input: unknown key "backgruond"; did you mean "background"\?')
        refuse_call(agent("a", "p", {}), r'\.replies\[0\]: a reply needs "text" or "calls"')
        inner = agent("a", "p", {"calls": [agent("b", "p", "r", background=True)]}, "r")
        for entry in ({"wait": "b"}, {"stop": "a"}):
            self.refuse_script({"conversation": [turn("x", {"calls": [inner]}, "y"), entry]},
                               r"conversation\[1\]\.\w+: no call before it starts a subagent of that name in the background")
        self.refuse_entry({"wait": 3}, r"\.wait: must be a string, and is the number 3")

    def test_a_config_that_does_not_load(self):
        self.refuse_config("{", says=r".*config\.json.*")
        self.refuse_config('{"hooks": {}}', says=r".*hooks.*")
        self.refuse_config('{"hooks": [{"phase": "pre_tool", "argv": ["x"]}]}', says=r".*pre_tool.*")
        self.refuse_config('{"hooks": [{"phase": "pre_turn", "argv": ["../x"]}]}', says=r".*\.\./x.*")
        self.refuse_config('{"hooks": [{"phase": "Stop", "argv": ["x"]}]}', says=r".*Stop.*")
        self.refuse_config('{"extensions": [{"path": "lookout"}]}', says=r".*extensions\[0\]\.path must be an absolute path.*")
        self.refuse_config('{"hooks": [{"phase": "pre_turn", "argv": ["x"], "timeout_ms": 30001}]}', says=r".*30001.*|.*30000.*")

    def test_control_characters_in_a_message(self):
        self.refuse("--\033[2J", says=r"unknown option --\\u\{1b\}\[2J; see --help")


if __name__ == "__main__":
    AGENT = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=sys.argv)
