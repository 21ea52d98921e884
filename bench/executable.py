"""Python's side of executable.cpp: asyncio.create_subprocess_exec, so many at once."""

import asyncio
import sys
import time

hook = sys.argv[1] + "/bare_hook"
memory = None


async def once(data):
    child = await asyncio.create_subprocess_exec(
        hook, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, _ = await asyncio.wait_for(child.communicate(data), 30)
    if child.returncode != 0 or out != b'{"power":"observe"}':
        raise RuntimeError(f"the hook's answer did not arrive: {child.returncode} {out!r}")


async def run(events, at_once, data):
    left = iter(range(events))

    async def lane():
        for _ in left:
            await once(data)

    await asyncio.gather(*(lane() for _ in range(at_once)))


async def main():
    global memory
    for line in sys.stdin:
        _, events, text = line.split()
        parameters = dict(part.split(":") for part in text.split("/"))
        if memory is None:
            memory = [b"\1" * 2**30 for _ in range(int(parameters["host_gib"]))]  # touched once
        data = b"x" * int(parameters["input"])
        cpu = time.process_time_ns()
        start = time.perf_counter_ns()
        await run(int(events), int(parameters["at_once"]), data)
        took = time.perf_counter_ns() - start
        print(took, f"cpu={time.process_time_ns() - cpu}", flush=True)


asyncio.run(main())
