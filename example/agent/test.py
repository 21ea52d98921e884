#!/usr/bin/env python3
"""Plays conversations with the agent and looks at what a person gets to see.

    test.py AGENT [default_conversation | other_conversations | bad_input]...
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
        document = json.loads(config.read_text()) if config.exists() else {"hooks": []}
        document["hooks"].append({"phase": phase, "argv": [name], "timeout_ms": 20000, **entry})
        config.write_text(json.dumps(document))

    def play(self, *conversation, status=0, **others):
        """What is printed when the conversation is played in the home of this test."""
        ended = run(self.script(*conversation, **others), "--home", self.folder / "home")
        self.assertEqual(ended.stderr.decode(), "")
        self.assertEqual(ended.returncode, status)
        return ended.stdout.decode()

    def assertInOrder(self, text, *parts):
        at = 0
        for part in parts:
            found = re.compile(part, re.MULTILINE).search(text, at)
            if not found:
                self.fail(f"not found, or not in this place: {part}\n\n{text}")
            at = found.end()


def call(name, denied=None, **input):
    return {"name": name, "input": input, **({"denied": denied} if denied else {})}


def turn(prompt, *replies):
    return {"prompt": prompt, "replies": [{"text": r} if isinstance(r, str) else r for r in replies]}


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
            r"^/compact: 5200 tokens",
            r"^session_start: compacted$",
            r"Keep replies short\.$",
            r"^> Write the watch bill",
            r"\| wrote 38 bytes to watch.txt$",
            r"write  manifest.csv$",
            r"customs failed: Command hook exited with status 4; the call was blocked$",
            r"bash  sudo mount /dev/stores$",
            r"blocked by no-sudo: nobody is root on this ship$",
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
            r"^runtime/logs/host.jsonl$",
            r'"type":"session_start_hook_failed".*"command":"weather-glass"',
            r"^runtime/logs/ship.log$",
            r"pre_compact \(manual\): tokens 5200$",
            r"session_end \(closed\): turns \d+$",
        )

    def test_what_hooks_hide_is_not_shown(self):
        for hidden in ("tk-48151623", "Times of high water are given", "You said done", "Noted."):
            self.assertNotIn(hidden, self.text)

    def test_the_next_run_prints_the_same(self):
        def comparable(text):
            text = re.sub(r"belay_agent\.\w{6}", "SCRATCH", text)
            return re.sub(r"ran for \d+ ms", "ran", text)

        self.assertEqual(comparable(run().stdout.decode()), comparable(self.text))

    def test_nothing_is_left_behind(self):
        scratch = re.search(r"workspace +(\S+)/workspace", self.text).group(1)
        self.assertFalse(pathlib.Path(scratch).exists())
        self.assertEqual(self.files_of_the_home(), self.home)


class other_conversations(Case):
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
            end, terminal = pty.openpty()
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
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            hooks = [started()]
            agent.send_signal(first)
            hooks.append(started())  # session_end runs, and does not want to end
            agent.send_signal(first)
            self.assertEqual(agent.communicate(timeout=25), (None, b""))
            self.assertEqual(agent.returncode, 130)
            deadline = time.monotonic() + 60
            while any(map(is_alive, hooks)):
                self.assertLess(time.monotonic(), deadline, "a hook outlived the agent")
                time.sleep(0.01)

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
        self.refuse("--home", says=r"--home: needs a folder")
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
        self.refuse_entry({"wait": 3}, r': unknown key "wait"; it may be "prompt", "replies", "compact"')
        self.refuse_script({"conversation": [], "session": {"tools": ["raed"]}},
                           r'session\.tools\[0\]: unknown value "raed"; did you mean "read"\?')
        self.refuse_script({"conversation": [], "session": {"end": "never"}},
                           r'session\.end: unknown value "never"; it may be "closed", .*')

    def test_what_does_not_fit_together(self):
        self.refuse_entry({"prompt": "x", "compact": {}}, r": it is either a turn, .*")
        self.refuse_entry(turn("x", {"text": "y", "joining": ["z"]}), r"\.replies\[0\]: .*has no \"calls\"")
        self.refuse_entry(turn("x", {"calls": [call("bash", command="true")], "stop": "length"}), r"\.replies\[0\]: .*no \"stop\"")
        self.refuse_entry(turn("x", {"calls": [call("bash") | {"id": "1"}, call("bash") | {"id": "1"}]}),
                          r'\.replies\[0\]\.calls\[1\]: another call has the id "1"')
        self.refuse(self.script(files={"../x": ""}), says=r'files\["\.\./x"\] is not in the workspace')

    def test_a_config_that_does_not_load(self):
        self.refuse_config("{", says=r".*config\.json.*")
        self.refuse_config('{"hooks": {}}', says=r".*hooks.*")
        self.refuse_config('{"hooks": [{"phase": "pre_tool", "argv": ["x"]}]}', says=r".*pre_tool.*")
        self.refuse_config('{"hooks": [{"phase": "pre_turn", "argv": ["../x"]}]}', says=r".*\.\./x.*")
        self.refuse_config('{"hooks": [{"phase": "pre_turn", "argv": ["x"], "timeout_ms": 30001}]}', says=r".*30001.*|.*30000.*")

    def test_control_characters_in_a_message(self):
        self.refuse("--\033[2J", says=r"unknown option --\\u\{1b\}\[2J; see --help")


if __name__ == "__main__":
    AGENT = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=sys.argv)
