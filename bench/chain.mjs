// Node's side of chain.cpp and matched.cpp: handlers that answer at once, awaited one after another in a
// loop, as agents written in it do.

import readline from "node:readline";

const ring = 1000;

// As in tool_calls.hpp.
function calls(withBash) {
    const tools = ["bash", "read", "edit", "grep"];
    const commands = [
        "cd build/dev && make -j2 test 2>&1 | tail -n 40 # ",
        "git diff --stat main -- include/ src/ | sort -k3 # ",
        "grep -rn 'error' src/server --include='*.cpp' # ",
        "for f in doc/*.md; do wc -w $f; done | sort -rn # ",
        "python3 -m pytest -q tests/test_parser.py -k read # ",
        "find . -name '*.orig' -newer README.md -print # ",
        "curl -sf http://localhost:8080/ready | jq .state # ",
    ];
    return Array.from({ length: ring }, (_, i) => ({
        tool: tools[withBash || i % 4 !== 0 ? i % 4 : 1],
        command: `${commands[i % commands.length]}${i}`.slice(0, 60).padEnd(60, "_"),
    }));
}

function guard(tool, needle) {
    return (event) =>
        event.tool === tool && event.command.includes(needle) ? { blocked: "no" } : undefined;
}

function guards(count, every) {
    const needles = ["rm -rf /", "git push --force ", "sudo ", "dd of=/dev/sd",
                     "chmod -R 777 /", "mkfs.ext4 /dev/", "nc -l ", "shutdown -t "];
    return Array.from({ length: count }, (_, i) =>
        guard(every && i % every === every - 1 ? "edit" : "bash", needles[i % needles.length] + i));
}

async function dispatch(handlers, event) {
    const outcome = { blocked: undefined };
    for (const handler of handlers) {
        const said = await handler(event);
        if (said !== undefined) {
            outcome.blocked = said.blocked;
            break;
        }
    }
    return outcome;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, events, text] = line.split(" ");
    const parameters = Object.fromEntries(text.split("/").map((one) => one.split(":")));
    const matching = parameters.matching;
    const batch = calls(matching !== "none");
    const handlers = guards(Number(parameters.handlers), matching === undefined ? 4 : 0);
    let blocked = 0;
    const start = process.hrtime.bigint();
    for (let i = 0; i < Number(events); ++i) {
        if ((await dispatch(handlers, batch[i % ring])).blocked) ++blocked;
    }
    const took = process.hrtime.bigint() - start;
    if (blocked !== 0) throw new Error("what is allowed is blocked");
    process.stdout.write(`${took}\n`);
}
