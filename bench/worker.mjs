// Node's side of worker.cpp: the same worker, so many requests in flight, JSON both ways. What is asked in one
// turn of the event loop is written together, which at 64 in flight takes Node less than half of the time that a
// write for each takes (one buffer here, which is faster than cork() and uncork()).

import { spawn } from "node:child_process";
import readline from "node:readline";

const worker = spawn(`${process.argv[2]}/worker`, [], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let last = 0;
let asked = "";
let beginning = "";
worker.stdout.setEncoding("utf8");
worker.stdout.on("data", (text) => {
    const lines = (beginning + text).split("\n");
    beginning = lines.pop();
    for (const line of lines) {
        const { id, result } = JSON.parse(line);
        const resolve = waiting.get(id);
        waiting.delete(id);
        resolve(result);
    }
});

const event = {
    type: "pre_tool_use",
    toolCall: {
        id: "call_7Hq2",
        name: "bash",
        input: { command: "grep -rn 'cache' src/server --include='*.cpp' | sort -u | head -n 20" },
    },
    sessionId: "b1946ac9",
    workspace: "/home/someone/project",
};

function request() {
    const id = ++last;
    return new Promise((resolve) => {
        waiting.set(id, resolve);
        if (asked === "") {
            process.nextTick(() => {
                worker.stdin.write(asked);
                asked = "";
            });
        }
        asked += `${JSON.stringify({ id, event })}\n`;
    });
}

for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, events, text] = line.split(" ");
    const parameters = Object.fromEntries(text.split("/").map((one) => one.split(":")));
    let left = Number(events);
    const lane = async () => {
        while (left-- > 0) {
            if ((await request()).power !== "observe") throw new Error("no such answer");
        }
    };
    const start = process.hrtime.bigint();
    await Promise.all(Array.from({ length: Number(parameters.in_flight) }, lane));
    process.stdout.write(`${process.hrtime.bigint() - start}\n`);
}
worker.stdin.end();
