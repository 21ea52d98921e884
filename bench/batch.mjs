// Node's side of batch.cpp: the same batch as an agent written in it runs one. The hooks of up to 64 calls
// at a time, each awaited; then, call by call, the permission check and the tool.

import readline from "node:readline";

const atOnce = 64;

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

async function askHooks(record) {
    const event = { call: record.call, sessionId: "bench", workspace: "/nest" };
    const outcome = { block: undefined, changedBy: [], ignored: [] };
    for (const hook of hooks) {
        const said = await hook(event);
        if (said !== undefined) {
            outcome.block = said.block;
            break;
        }
    }
    record.before = outcome;
}

async function runTools(calls) {
    const records = calls.map((call) => ({ call, fate: "ran" }));
    let next = 0;
    const chain = async () => {
        while (next < records.length) await askHooks(records[next++]);
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
    const count = Number(line.split(" ")[1]);
    const calls = batchOf(count);
    const start = process.hrtime.bigint();
    const records = await runTools(calls);
    const took = process.hrtime.bigint() - start;
    if (!records.every((one) => one.fate === "ran")) throw new Error("what is allowed is blocked");
    process.stdout.write(`${took}\n`);
}
