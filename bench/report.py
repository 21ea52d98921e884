#!/usr/bin/env python3
"""One table of what Google Benchmark measured: each figure beside its limit, its peers and its goal.

    report.py [--json FILE] [--svg FILE] RESULT.json...

Each RESULT.json is what one question wrote (--benchmark_out), with the question itself in its context. The
table is Markdown, on stdout. Exits with 1 if something did not run; a goal that is missed is in the
table, and no failure.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
from xml.sax.saxutils import escape

TO_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
TIMES = ("wall", "cpu")
# What Google Benchmark itself adds to names.
NOT_OURS = ("iterations", "repeats", "min_time", "min_warmup_time", "threads")
# What every entry has, beside its counters.
FIXED = {
    "name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index",
    "threads", "iterations", "real_time", "cpu_time", "time_unit", "error_occurred", "error_message", "label",
    "items_per_second", "bytes_per_second", "events",
}


class Wrong(Exception):
    pass


def parameters_of(text):
    """{"handlers": "4"} of "handlers:4"."""
    found = {}
    for part in filter(None, text.split("/")):
        name, colon, value = part.partition(":")
        if not colon:
            raise Wrong(f"a parameter is name:value, not {part!r}")
        found[name] = value
    return found


def text_of(parameters):
    return ", ".join(f"{name} {value}" for name, value in parameters.items())


def order_of(parameters):
    """For sorting: numbers by size."""
    def key(value):
        try:
            return (0, float(value), "")
        except ValueError:
            return (1, 0.0, value)
    return [key(value) for value in parameters.values()]


class Cell:
    """One variant with one set of parameters."""

    def __init__(self, variant, parameters):
        self.variant, self.parameters = variant, parameters
        self.samples = {}   # statistic: [figure of each repetition]
        self.missing = None  # why it could not be measured here, and that is no fault

    def median(self, statistic):
        if statistic not in self.samples:
            return None
        return statistics.median(self.samples[statistic])

    def __str__(self):
        return f"{self.variant} ({text_of(self.parameters)})" if self.parameters else self.variant


class Question:
    def __init__(self, path):
        self.name = path.stem
        try:
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        except OSError as error:
            raise Wrong(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise Wrong(f"{path} is no JSON: {error}") from error
        try:
            declared = result["context"]["question"]
            if isinstance(declared, str):
                declared = json.loads(declared)
            self.asks, self.limit = declared["asks"], declared["limit"]
            self.peers, self.goals = declared["peers"], declared["goals"]
            entries = result["benchmarks"]
        except (KeyError, TypeError, ValueError) as error:
            raise Wrong(f"{path} is not the result of a question: {error!r}") from error
        self.cells = []
        self.errors = []
        for entry in entries:
            if entry.get("run_type") == "iteration":
                self.add(entry)
        for cell in self.cells:
            if not cell.samples and cell.missing is None:
                cell.missing = "failed"

    def add(self, entry):
        variant, *rest = entry["name"].split("/")
        rest = [part for part in rest if ":" in part and part.split(":")[0] not in NOT_OURS]
        parameters = parameters_of("/".join(rest))
        cell = next((c for c in self.cells if c.variant == variant and c.parameters == parameters), None)
        if cell is None:
            cell = Cell(variant, parameters)
            self.cells.append(cell)
        if entry.get("error_occurred"):
            message = entry.get("error_message", "")
            if message.startswith("missing: "):
                cell.missing = message[len("missing: "):]
            else:
                self.errors.append(f"{self.name}: {cell}: {message}")
            return
        events = entry.get("events", 1)
        to_ns = TO_NANOSECONDS[entry["time_unit"]]
        figures = {"wall": entry["real_time"] * to_ns / events, "cpu": entry["cpu_time"] * to_ns / events}
        for name, value in entry.items():
            if name not in FIXED and isinstance(value, (int, float)):
                figures[name] = value
        for name, value in figures.items():
            cell.samples.setdefault(name, []).append(value)

    def cells_of(self, variant):
        return [cell for cell in self.cells if cell.variant == variant]

    def beside(self, cell, variant, changed=None):
        """The cell of that variant with the same parameters, as far as it has them."""
        wanted = {**cell.parameters, **(changed or {})}
        fitting = [
            other for other in self.cells_of(variant)
            if all(wanted.get(name) == value for name, value in other.parameters.items())
        ]
        return max(fitting, key=lambda other: len(other.parameters), default=None)


class Row:
    """One line of the table."""

    def __init__(self, question, variant, parameters):
        self.question, self.variant, self.parameters = question, variant, parameters
        self.statistic = "wall"
        self.measured = None
        self.against = ""       # what it is compared with
        self.compared = None    # its figure
        self.goal = None
        self.missing = None
        self.peers = {}         # name: figure, or why there is none

    @property
    def ratio(self):
        if self.measured is None or (self.against and self.compared is None):
            return None
        if not self.against:
            return self.measured
        if self.compared == 0:
            return math.inf if self.measured else 1.0
        return self.measured / self.compared

    @property
    def met(self):
        return None if self.goal is None or self.ratio is None else self.ratio <= self.goal

    def as_json(self):
        peers = {
            name: figure if isinstance(figure, str) else {"measured": figure, "ratio": self.beside_limit(figure)}
            for name, figure in self.peers.items()
        }
        row = {
            "question": self.question.name, "variant": self.variant, "parameters": self.parameters,
            "statistic": self.statistic, "measured": self.measured, "against": self.against or None,
            "compared": self.compared, "ratio": self.ratio, "goal": self.goal, "met": self.met,
        }
        if peers:
            row["peers"] = peers
        if self.missing:
            row["missing"] = self.missing
        return row

    def beside_limit(self, figure):
        return figure / self.compared if self.compared else None


def added(question, cells, parameter, statistic):
    """What one more of the parameter adds: from the fewest to the most."""
    known = [c for c in cells if parameter in c.parameters and c.median(statistic) is not None]
    known.sort(key=lambda c: float(c.parameters[parameter]))
    if len(known) < 2:
        raise Wrong(f"{question.name}: fewer than two values of {parameter} to compare")
    first, last = known[0], known[-1]
    more = float(last.parameters[parameter]) - float(first.parameters[parameter])
    return (last.median(statistic) - first.median(statistic)) / more, first, last


def rows_of_goal(question, goal):
    cells = question.cells_of(goal["variant"])
    if not cells:
        raise Wrong(f"{question.name}: a goal names {goal['variant']!r}, which was not measured")
    for name, values in parameters_of(goal["where"]).items():
        cells = [c for c in cells if c.parameters.get(name) in values.split(",")]
    if not cells:
        return []  # a quick run has fewer parameters
    changed = parameters_of(goal["against_where"])

    def row(parameters):
        made = Row(question, goal["variant"], parameters)
        made.statistic, made.against, made.goal = goal["statistic"], goal["against"], goal["at_most"]
        return made

    if goal["added_per"]:
        parameter = goal["added_per"]
        others = [question.beside(c, goal["against"], changed) for c in cells]
        made = row({})
        made.measured, first, last = added(question, cells, parameter, goal["statistic"])
        made.parameters = {f"per {parameter}": f"{first.parameters[parameter]} to {last.parameters[parameter]}"}
        if goal["against"]:
            made.compared, _, _ = added(question, [o for o in others if o], parameter, goal["statistic"])
        return [made]

    rows = []
    for cell in sorted(cells, key=lambda c: order_of(c.parameters)):
        made = row(cell.parameters)
        made.measured, made.missing = cell.median(goal["statistic"]), cell.missing
        if goal["against"]:
            other = question.beside(cell, goal["against"], changed)
            if other is None:
                raise Wrong(f"{question.name}: {cell} has no {goal['against']!r} to be compared with")
            if changed and goal["against"] == goal["variant"]:
                if other is cell:
                    continue
                made.against = text_of(changed)
            made.compared, made.missing = other.median(goal["statistic"]), made.missing or other.missing
        if made.measured is None and not made.missing:
            raise Wrong(f"{question.name}: {cell} has no {goal['statistic']!r}")
        if goal["against"] == question.limit and made.compared is not None:
            add_peers(made, cell)
        rows.append(made)
    if goal["worst"] and rows:
        measured = [r for r in rows if r.ratio is not None]
        rows = [max(measured, key=lambda r: r.ratio)] if measured else rows[:1]
    return rows


def add_peers(row, cell):
    for peer in row.question.peers:
        other = row.question.beside(cell, peer)
        if other is None:
            continue
        figure = other.median(row.statistic)
        if figure is not None:
            row.peers[peer] = figure
        elif other.missing:
            row.peers[peer] = other.missing


def rows_of(question):
    rows = [row for goal in question.goals for row in rows_of_goal(question, goal)]
    shown = {(r.variant, text_of(r.parameters)) for r in rows if r.statistic in TIMES}
    compared = {question.limit, *question.peers, *(goal["against"] for goal in question.goals)}
    judged = {goal["variant"] for goal in question.goals}
    # What nobody has a goal for.
    for cell in sorted(question.cells, key=lambda c: (c.variant, order_of(c.parameters))):
        if (cell.variant, text_of(cell.parameters)) in shown or cell.variant in compared - judged:
            continue
        row = Row(question, cell.variant, cell.parameters)
        row.measured, row.missing = cell.median("wall"), cell.missing
        limit = question.beside(cell, question.limit)
        if limit is not None and limit is not cell:
            row.against, row.compared = question.limit, limit.median("wall")
            add_peers(row, cell)
        rows.append(row)
    return rows


# --- Text ------------------------------------------------------------------------------------------


def figure(value, statistic):
    if value is None:
        return "-"
    if statistic in TIMES:
        for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
            if abs(value) >= size:
                return f"{number(value / size)} {unit}"
        return f"{number(value)} ns"
    return f"{number(value)} {statistic.replace('_', ' ')}"


def number(value):
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}" if value != int(value) else f"{value:g}"


def ratio_text(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def met_text(row):
    if row.met is None:
        return row.missing or ("" if row.goal is None else "-")
    return "yes" if row.met else "**no**"


HEAD = ("question", "variant", "parameters", "measured", "beside", "its figure", "ratio", "goal", "met", "peers: figure (ratio to the limit)")


def columns(row):
    peers = []
    for name, value in row.peers.items():
        if isinstance(value, str):
            peers.append(f"{name}: {value}")
        else:
            peers.append(f"{name} {figure(value, row.statistic)} ({ratio_text(row.beside_limit(value))})")
    variant = row.variant if row.statistic == "wall" else f"{row.variant}: {row.statistic.replace('_', ' ')}"
    limit = " (limit)" if row.against and row.against == row.question.limit else ""
    return (
        row.question.name, variant, text_of(row.parameters), figure(row.measured, row.statistic),
        row.against + limit if row.against else "-", figure(row.compared, row.statistic) if row.against else "-",
        ratio_text(row.ratio) if row.against else "-",
        "" if row.goal is None else f"≤ {ratio_text(row.goal) if row.against else number(row.goal)}",
        met_text(row), "; ".join(peers),
    )


def markdown(rows):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for row in rows:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in columns(row)) + " |")
    return "\n".join(lines)


# --- Chart -----------------------------------------------------------------------------------------

LINE, LEFT, WIDTH, TEXT = 18, 470, 560, 11
GOOD, BAD, PLAIN, PEER = "#1a7f37", "#cf222e", "#57606a", "#8c959f"


def svg(questions, rows):
    # What one more of something adds can be measured as less than nothing: the axis has no place for it.
    shown = [r for r in rows if r.against and r.ratio and 0 < r.ratio < math.inf]
    if not shown:
        raise Wrong("there is no ratio to draw")
    values = [r.ratio for r in shown] + [r.goal for r in shown if r.goal]
    for row in shown:
        values += [row.beside_limit(f) for f in row.peers.values() if not isinstance(f, str) and row.compared]
    low = math.floor(math.log10(min(values)) - 0.05)
    high = math.ceil(math.log10(max(values)) + 0.05)

    def x(value):
        return LEFT + WIDTH * (math.log10(value) - low) / (high - low)

    body, y = [], 58

    def put(text, at, line, anchor="start", colour="#24292f", weight="normal", size=TEXT):
        body.append(f'<text x="{at:.1f}" y="{line + 4}" font-size="{size}" text-anchor="{anchor}" '
                    f'fill="{colour}" font-weight="{weight}">{escape(text)}</text>')

    for question in questions:
        own = [r for r in shown if r.question is question]
        if not own:
            continue
        y += 10
        put(f"{question.name}: {question.asks}", 12, y, weight="bold", size=12)
        y += LINE + 2
        for row in own:
            variant = row.variant if row.statistic == "wall" else f"{row.variant}, {row.statistic.replace('_', ' ')}"
            detail = f" ({text_of(row.parameters)})" if row.parameters else ""
            put(f"{variant}{detail} / {row.against}", LEFT - 14, y, "end")
            colour = PLAIN if row.met is None else GOOD if row.met else BAD
            for name, value in row.peers.items():
                if isinstance(value, str) or not row.compared or not value:
                    continue
                body.append(f'<circle cx="{x(row.beside_limit(value)):.1f}" cy="{y}" r="3.5" fill="none" '
                            f'stroke="{PEER}"><title>{escape(name)}: '
                            f'{ratio_text(row.beside_limit(value))}</title></circle>')
            if row.goal:
                at = x(row.goal)
                body.append(f'<path d="M{at:.1f} {y - 7}V{y + 7}" stroke="#24292f" stroke-width="2"/>')
            body.append(f'<circle cx="{x(row.ratio):.1f}" cy="{y}" r="4.5" fill="{colour}"/>')
            put(ratio_text(row.ratio), LEFT + WIDTH + 14, y, colour=colour, weight="bold")
            if row.goal is not None:
                put(f"≤ {ratio_text(row.goal)}", LEFT + WIDTH + 62, y, colour=PLAIN)
            y += LINE
    bottom = y + 4
    grid = []
    for power in range(low, high + 1):
        at = x(10.0 ** power)
        grid.append(f'<path d="M{at:.1f} 50V{bottom}" stroke="{"#8c959f" if power == 0 else "#d8dee4"}"/>')
        grid.append(f'<text x="{at:.1f}" y="44" font-size="{TEXT}" text-anchor="middle" '
                    f'fill="{PLAIN}">{10.0 ** power:g}</text>')
    width, height = LEFT + WIDTH + 120, bottom + 14
    legend = (
        '<text x="12" y="20" font-size="13" font-weight="bold" fill="#24292f">Ratios: further left is better</text>'
        f'<g font-size="{TEXT}" fill="{PLAIN}">'
        f'<circle cx="276" cy="16" r="4.5" fill="{GOOD}"/><text x="286" y="20">goal met</text>'
        f'<circle cx="356" cy="16" r="4.5" fill="{BAD}"/><text x="366" y="20">goal missed</text>'
        f'<circle cx="454" cy="16" r="4.5" fill="{PLAIN}"/><text x="464" y="20">no goal</text>'
        '<path d="M526 9V23" stroke="#24292f" stroke-width="2"/><text x="536" y="20">the most it may be</text>'
        f'<circle cx="660" cy="16" r="3.5" fill="none" stroke="{PEER}"/>'
        '<text x="670" y="20">a peer, beside the same</text></g>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif"><rect width="100%" height="100%" fill="#ffffff"/>'
        + "\n".join([legend, *grid, *body]) + "</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(
        prog="report.py", description=__doc__.split("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--json", metavar="FILE", help="also write the rows there, as JSON")
    parser.add_argument("--svg", metavar="FILE", help="also draw the ratios there")
    parser.add_argument("results", metavar="RESULT.json", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()

    questions = [Question(path) for path in arguments.results]
    rows = [row for question in questions for row in rows_of(question)]
    errors = [error for question in questions for error in question.errors]
    print(markdown(rows))
    if arguments.json:
        text = json.dumps({"rows": [row.as_json() for row in rows], "errors": errors}, indent=1, ensure_ascii=False)
        write(arguments.json, text.replace("Infinity", "null") + "\n")
    if arguments.svg:
        write(arguments.svg, svg(questions, rows))
    for error in errors:
        print(f"report.py: {error}", file=sys.stderr)
    return 1 if errors else 0


def write(path, text):
    try:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from error


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        print(f"report.py: {error}", file=sys.stderr)
        sys.exit(1)
