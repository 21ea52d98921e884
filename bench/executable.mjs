// Node's side of executable.cpp: child_process.spawn, so many at once.

import { spawn } from "node:child_process";
import readline from "node:readline";

const hook = `${process.argv[2]}/bare_hook`;
let memory;

// Touched once, in pieces that a buffer may have.
function hold(gib) {
    memory ??= Array.from({ length: gib }, () => Buffer.alloc(2 ** 30, 1));
}

function once(input) {
    return new Promise((resolve, reject) => {
        const child = spawn(hook, [], { detached: true });
        const timer = setTimeout(() => child.kill(), 30_000);
        const out = [];
        child.stdout.on("data", (piece) => out.push(piece));
        child.stderr.resume();
        child.stdin.on("error", () => {});
        child.on("error", reject);
        child.on("close", (status) => {
            clearTimeout(timer);
            const said = Buffer.concat(out).toString();
            if (status === 0 && said === '{"power":"observe"}') resolve();
            else reject(new Error(`the hook's answer did not arrive: ${status} ${said}`));
        });
        child.stdin.end(input);
    });
}

for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, events, text] = line.split(" ");
    const parameters = Object.fromEntries(text.split("/").map((one) => one.split(":")));
    hold(Number(parameters.host_gib));
    const input = "x".repeat(Number(parameters.input));
    let left = Number(events);
    const lane = async () => {
        while (left-- > 0) await once(input);
    };
    const cpu = process.cpuUsage();
    const start = process.hrtime.bigint();
    await Promise.all(Array.from({ length: Number(parameters.at_once) }, lane));
    const took = process.hrtime.bigint() - start;
    const { user, system } = process.cpuUsage(cpu);
    process.stdout.write(`${took} cpu=${(user + system) * 1000}\n`);
}
