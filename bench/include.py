#!/usr/bin/env python3
"""What does an include cost?

The CPU time that a compiler takes for one file, without optimisation: the least of seven times, in turn with all
others, since whatever else the machine does only ever adds to it. Files that are compared are compiled equally
often: once if one of them takes more than four seconds, since nothing is close to its goal there, and once with
--quick. "belay" is a file that includes one of belay's headers and nothing else. Its limit includes the headers of
Boost and of the system that belay's files include on the way, and nothing of belay; among the peers are those of
Boost alone. "session" is example/hooks_session.cpp. Each with all bodies inline, and with
BELAY_SEPARATE_COMPILATION, as in a program that has src.hpp in another file.

This question needs no Google Benchmark, and writes what that would write.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include"
SESSION = ROOT / "example" / "hooks_session.cpp"
COMPILERS = {"g++": ("g++",), "clang++": ("clang++-19", "clang++", "clang++-14")}
BODIES = {"inline": (), "src.hpp": ("-DBELAY_SEPARATE_COMPILATION",)}
TIMES, LONG = 7, 4  # compilations, if none of those compared takes more than so many seconds
BELAY, LIMIT, BOOST, USER = "belay", "its headers", "of these Boost's", "session"


def goals():
    def goal(variant, against, at_most, where="", against_where=""):
        return {"variant": variant, "against": against, "statistic": "cpu", "where": where,
                "against_where": against_where, "added_per": "", "worst": False, "at_most": at_most}

    return [goal(BELAY, LIMIT, 1.15),
            goal(USER, USER, 0.5, where="bodies:src.hpp", against_where="bodies:inline")]


def external_headers(command, source):
    """What belay's files that `source` reaches include of others, in their order."""
    found = subprocess.run([*command, "-M", source], check=True, capture_output=True, text=True).stdout
    files = dict.fromkeys(found.replace("\\\n", " ").split()[1:])
    headers = {}
    for file in files:
        if INCLUDE not in pathlib.Path(file).resolve().parents:
            continue
        for header in re.findall(r"^#include <([^>]+)>", pathlib.Path(file).read_text(), re.MULTILINE):
            if not header.startswith("belay/"):
                headers[header] = None
    return list(headers)


class Job:
    """One file to compile, as often as those that it is compared with, which are `compared` and have itself."""

    def __init__(self, name, command, source, compared):
        self.name, self.command, self.source, self.compared = name, command, source, compared
        self.cpu, self.error = [], None
        compared.append(self)

    def is_done(self, quick):
        is_long = any(sum(one.cpu[:1]) > LONG for one in self.compared)
        return self.error is not None or quick or is_long or len(self.cpu) >= TIMES

    def run(self, folder):
        output = pathlib.Path(folder) / f"{threading.get_ident()}.o"
        with open(output.with_suffix(".txt"), "w+b") as words:
            child = subprocess.Popen([*self.command, "-c", self.source, "-o", output], stdout=words, stderr=words)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode == 0:
                self.cpu.append(usage.ru_utime + usage.ru_stime)
            else:
                words.seek(0)
                self.error = words.read().decode(errors="replace").strip()[:400] or "the compiler failed"


def jobs_of(compiler, program, folder):
    made, users = [], []

    def add(variant, parameters, command, source, compared):
        name = "/".join([variant, *parameters, f"compiler:{compiler}"])
        made.append(Job(name, command, source, compared))

    for bodies, flags in BODIES.items():
        command = [program, "-std=c++20", "-O0", f"-I{INCLUDE}", *flags]
        for header in ("core.hpp", "hooks.hpp"):
            def write(name, headers):
                path = pathlib.Path(folder) / f"{compiler}-{bodies}-{header}-{name}.cpp"
                path.write_text("".join(f"#include <{one}>\n" for one in headers))
                return path

            own = write("belay", [f"belay/{header}"])
            others = external_headers(command, own)
            parameters = [f"header:{header}", f"bodies:{bodies}"]
            compared = []
            add(BELAY, parameters, command, own, compared)
            add(LIMIT, parameters, command, write("limit", others), compared)
            add(BOOST, parameters, command, write("boost", [h for h in others if h.startswith("boost/")]), compared)
        add(USER, [f"bodies:{bodies}"], command, SESSION, users)
    return made


def run_all(jobs, folder, quick):
    """Each as often as it wants, in a new order each time, on as many cores as there are."""
    while jobs:
        waiting = random.sample(jobs, len(jobs))

        def work():
            while True:
                try:
                    job = waiting.pop()
                except IndexError:
                    return
                job.run(folder)

        threads = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        jobs = [job for job in jobs if not job.is_done(quick)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="one compiler, once")
    parser.add_argument("--benchmark_out", metavar="FILE", required=True, help="where the result goes")
    parser.add_argument("--benchmark_out_format", choices=["json"], default="json")
    arguments = parser.parse_args()

    entries = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for compiler, names in COMPILERS.items():
            program = next(filter(None, map(shutil.which, names)), None)
            if program is None:
                entries.append({"name": f"{BELAY}/compiler:{compiler}", "run_type": "iteration",
                                "error_occurred": True, "error_message": f"missing: {compiler} is not installed"})
            elif not (arguments.quick and jobs):
                jobs += jobs_of(compiler, program, folder)
        run_all(jobs, folder, arguments.quick)
    for job in jobs:
        if job.error is None:
            seconds = min(job.cpu)
            entries.append({"name": job.name, "run_type": "iteration", "time_unit": "s",
                            "real_time": seconds, "cpu_time": seconds})
        else:
            entries.append({"name": job.name, "run_type": "iteration",
                            "error_occurred": True, "error_message": job.error})
    question = {"asks": __doc__.split("\n")[0], "limit": LIMIT, "peers": [BOOST], "goals": goals()}
    with open(arguments.benchmark_out, "w", encoding="utf-8") as file:
        json.dump({"context": {"question": question}, "benchmarks": entries}, file, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        words = getattr(error, "stderr", None) or ""
        sys.exit(f"include.py: {error}\n{words}")
