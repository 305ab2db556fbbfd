"""Compares what a heartbeat costs the coordinator with what it costs servers that do nothing (docs/benchmarks.md).

Started by `scripts/bench heartbeat`, which builds what this measures.
"""

import argparse
import datetime
import http.client
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
BINARIES = PROJECT / "build" / "release" / "bin"
DOCUMENT = PROJECT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- heartbeat: begin -->", "<!-- heartbeat: end -->"

NGINX_CONFIGURATION = """\
daemon off;
master_process off;
pid {directory}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  default_type application/json;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ return 200 '{{"instance_id":"bench-00000"}}'; }}
  }}
}}
"""


def coordinator(port, _directory):
    return [BINARIES / "mp-coordinator", "--host", "127.0.0.1", "--port", str(port), "--http-threads", "1",
            "--instance-timeout", "3600"]


def bare_pistache(port, _directory):
    return [BINARIES / "bare_pistache", str(port)]


def nginx(port, directory):
    configuration = pathlib.Path(directory) / "nginx.conf"
    configuration.write_text(NGINX_CONFIGURATION.format(port=port, directory=directory))
    return ["/usr/sbin/nginx", "-p", directory, "-c", configuration]


# Name in the table, command, whether it must know the instances.
SERVERS = [
    ("mp-coordinator", coordinator, True),
    ("bare Pistache handler", bare_pistache, False),
    ("nginx `return 200`", nginx, False),
]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_listening(process, name, port):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{name} ended with {process.returncode} at its start")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"{name} does not listen")


def register(port, instances):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for number in range(instances):
        body = {"instance_id": f"bench-{number:05}", "ip": "192.0.2.1", "http_port": 8000}
        connection.request("POST", "/instances", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit(f"a registration was answered with {response.status}")
    connection.close()


def cpu_seconds(pid):
    """User and system time of all threads of a process."""
    # The name in parentheses may hold blanks. Fields 14 and 15 of the line are the 12th and 13th after it.
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(port, seconds, options):
    command = ["wrk", "--threads", "1", "--connections", str(options.connections), "--duration", f"{seconds}s",
               "--script", HERE / "heartbeat.lua", f"http://127.0.0.1:{port}", "--", str(options.instances)]
    output = subprocess.run(pinned(command, options.load_core), check=True, capture_output=True, text=True).stdout
    return json.loads(next(line for line in output.splitlines() if line.startswith("{")))


def pinned(command, core):
    return ["taskset", "--cpu-list", str(core), *map(str, command)]


def measure(name, command, must_know, options):
    """One round of one server: starts it, warms it up, puts the load on it, ends it."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(pinned(command(port, directory), options.server_core), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until_listening(process, name, port)
            if must_know:
                register(port, options.instances)
            load(port, 1, options)
            before = cpu_seconds(process.pid)
            result = load(port, options.seconds, options)
            cpu = cpu_seconds(process.pid) - before
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    if result["failed"]:
        raise SystemExit(f"{result['failed']} of {result['requests']} requests to {name} failed")
    return {
        "CPU per request": cpu / result["requests"] * 1e6,
        "p50": result["p50"],
        "p99": result["p99"],
        "requests per second": result["requests"] / result["seconds"],
    }


def table(results):
    """A row for each server, then one for what the coordinator has or takes for each 1.00 of another."""
    metrics = [("CPU per request", " µs", 1), ("p50", " µs", 0), ("p99", " µs", 0), ("requests per second", "", 0)]
    lines = ["| | " + " | ".join(metric for metric, _, _ in metrics) + " |", "|---" * (len(metrics) + 1) + "|"]
    medians = {}
    for name, rounds in results.items():
        cells = []
        for metric, unit, digits in metrics:
            values = [measured[metric] for measured in rounds]
            medians[name, metric] = statistics.median(values)
            cells.append(f"{medians[name, metric]:,.{digits}f}{unit}"
                         f" ({min(values):,.{digits}f} to {max(values):,.{digits}f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    subject, *others = results
    for name in others:
        cells = [f"{medians[subject, metric] / medians[name, metric]:.2f}" for metric, _, _ in metrics]
        lines.append(f"| {subject} ÷ {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def report(results, options):
    return "\n".join([
        f"`{options.command}` on {datetime.date.today().isoformat()}, {os.cpu_count()} cores of {processor()},"
        f" {options.rounds} rounds of {options.seconds} s, {options.connections} connections,"
        f" {options.instances:,} instances. Medians, in parentheses the least and the most of the rounds:",
        "",
        table(results),
    ])


def update_document(text):
    document = DOCUMENT.read_text()
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{DOCUMENT} has no section between {BEGIN} and {END}")
    DOCUMENT.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench heartbeat", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often each server is measured (default: 3)")
    parser.add_argument("--seconds", type=int, default=5, help="length of a measurement (default: 5)")
    parser.add_argument("--connections", type=int, default=64, help="kept-alive connections (default: 64)")
    parser.add_argument("--instances", type=int, default=10000, help="size of the fleet (default: 10000)")
    parser.add_argument("--update", action="store_true", help="write the figures into docs/benchmarks.md")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    options.server_core, options.load_core = cores[0], cores[-1]
    options.command = "scripts/bench heartbeat" + "".join(
        f" --{name} {getattr(options, name)}" for name in ("rounds", "seconds", "connections", "instances")
        if getattr(options, name) != parser.get_default(name))

    results = {name: [] for name, _, _ in SERVERS}
    for number in range(options.rounds):
        # Each round starts with another server, so that none is always the first or the last.
        turn = number % len(SERVERS)
        for name, command, must_know in SERVERS[turn:] + SERVERS[:turn]:
            measured = measure(name, command, must_know, options)
            results[name].append(measured)
            print(f"round {number + 1}: {name}: {measured['CPU per request']:.1f} µs a request,"
                  f" {measured['requests per second']:,.0f} requests a second", flush=True)
    text = report(results, options)
    print(f"\n{text}")
    if options.update:
        update_document(text)
        print(f"\nwritten to {DOCUMENT.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
