// Node's side of batch.cpp: the same batch as an agent written in it runs one, in a loop that awaits the
// hooks of one call after the other (or of AT_ONCE calls at a time); then, call by call, the permission
// check and the tool.

import { spawn } from "node:child_process";
import readline from "node:readline";

const atOnce = Number(process.env.AT_ONCE ?? 1);

function batchOf(count) {
    return Array.from({ length: count }, (_, i) => ({
        id: `call_${i}`,
        name: "bash",
        input: { command: `grep -rn 'error' src/server --include='*.cpp' # ${i}`.padEnd(60, "_") },
    }));
}

function guard(needle) {
    return (event) =>
        event.call.name === "bash" && event.call.input.command.includes(needle) ? { block: "no" } : undefined;
}

const hooks = Array.from({ length: 4 }, (_, i) => guard(`rm -rf /home/${i}`));
const permit = async () => ({ granted: true });
const run = async (call) => ({ content: [{ type: "text", text: `ran ${call.id}` }], isError: false });

// A program that lives on: a JSON line for each event, a JSON line for each answer. Events of one turn of the
// event loop are written together.
class Worker {
    constructor(path) {
        this.child = spawn(path, { stdio: ["pipe", "pipe", "inherit"] });
        this.waiting = new Map();
        this.last = 0;
        this.asked = "";
        let rest = "";
        this.child.stdout.setEncoding("utf8");
        this.child.stdout.on("data", (text) => {
            const lines = (rest + text).split("\n");
            rest = lines.pop();
            for (const line of lines) {
                const answer = JSON.parse(line);
                const settle = this.waiting.get(answer.id);
                this.waiting.delete(answer.id);
                settle(answer.result);
            }
        });
    }

    ask(event) {
        return new Promise((settle) => {
            const id = ++this.last;
            this.waiting.set(id, settle);
            if (this.asked === "") {
                process.nextTick(() => {
                    this.child.stdin.write(this.asked);
                    this.asked = "";
                });
            }
            this.asked += `${JSON.stringify({ id, event })}\n`;
        });
    }
}

const programs = process.argv[2];
let worker;

async function askHooks(record, withWorker) {
    const event = { call: record.call, sessionId: "bench", workspace: "/nest" };
    const outcome = { block: undefined, changedBy: [], ignored: [] };
    for (const hook of hooks) {
        const said = await hook(event);
        if (said !== undefined) {
            outcome.block = said.block;
            break;
        }
    }
    if (outcome.block === undefined && withWorker) {
        const said = await worker.ask({
            type: "pre_tool_use",
            toolCall: event.call,
            sessionId: event.sessionId,
            workspace: event.workspace,
        });
        if (said.power !== "observe") outcome.block = said.reason;
    }
    record.before = outcome;
}

async function runTools(calls, withWorker) {
    const records = calls.map((call) => ({ call, fate: "ran" }));
    let next = 0;
    const chain = async () => {
        while (next < records.length) await askHooks(records[next++], withWorker);
    };
    await Promise.all(Array.from({ length: atOnce }, chain));
    for (const record of records) {
        if (record.before.block !== undefined || !(await permit(record.call)).granted) {
            record.fate = "refused";
            continue;
        }
        const start = process.hrtime.bigint();
        record.result = await run(record.call);
        record.duration = process.hrtime.bigint() - start;
    }
    return records;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, count] = line.split(" ");
    const withWorker = line.includes("worker");
    if (withWorker) worker ??= new Worker(`${programs}/worker`);
    const calls = batchOf(Number(count));
    const start = process.hrtime.bigint();
    const records = await runTools(calls, withWorker);
    const took = process.hrtime.bigint() - start;
    if (!records.every((one) => one.fate === "ran")) throw new Error("what is allowed is blocked");
    process.stdout.write(`${took}\n`);
}
worker?.child.stdin.end();
