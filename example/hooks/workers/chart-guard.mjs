#!/usr/bin/env node
// pre_tool_use, as a worker: charts are never deleted. Nothing else may be written to stdout: console.error is for logs.
import { createInterface } from "node:readline";

function decide({ toolCall }) {
  const forbidden = toolCall.name === "bash" && /\brm\b.*\bcharts\//.test(toolCall.input.command ?? "");
  return forbidden ? { power: "block", reason: "Charts are never deleted." } : { power: "observe" };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, event } = JSON.parse(line);
  process.stdout.write(JSON.stringify({ id, result: decide(event) }) + "\n");
}
