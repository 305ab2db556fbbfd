#!/usr/bin/env python3
"""Installs the registrar, builds the examples of docs/registrar.md and the README against it as strangers would, and runs
them.

Each example has to show up in the list of a real coordinator, leave it when it is told to end, and end with status 0.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

PATIENCE = 60.0  # seconds; far longer than anything here takes


def run(*command):
    """Runs a command, and shows what it printed if it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}")


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"in vain: {what}")
        time.sleep(0.02)


def examples(text):
    """Programs and their CMake projects, in the order of the page."""
    programs = re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    projects = re.findall(r"^```cmake\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if len(programs) != 2 or len(projects) != 2:
        sys.exit("the page should have two programs and two CMake projects")
    return zip(["library", "actor"], programs, projects)


def readme_example(text, url):
    """The program in the README, pointed at a coordinator."""
    for program in re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if "mp_registrar/registrar.hpp" in program and "http://localhost:9300" in program:
            return program.replace("http://localhost:9300", url)
    sys.exit("the README has no program that embeds the registrar")


def check_headers(folder):
    """Who embeds the registrar must not need the headers of anything but the standard library."""
    for name in ["event.hpp", "registrar.hpp", "settings.hpp"]:
        for included in re.findall(r"^#include (.*)$", (folder / name).read_text(), re.MULTILINE):
            included = included.split("//")[0].strip()
            if not re.fullmatch(r'<[a-z_]+>|"(event|registrar)\.hpp"', included):
                sys.exit(f"{name} includes {included}")


class Coordinator:
    def __init__(self, binary, log):
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen([binary, "--host", "127.0.0.1", "--port", "0"], stderr=output)
        self.port = None
        wait_until("the coordinator listens", self._listens)

    def _listens(self):
        found = re.search(r"server\.listening.* port=(\d+)", pathlib.Path(self.log).read_text())
        self.port = int(found.group(1)) if found else None
        return self.port is not None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def instances(self):
        with urllib.request.urlopen(self.url + "/instances", timeout=PATIENCE) as reply:
            return json.load(reply)["instances"]


def build(arguments, prefix, folder, program, project):
    folder.mkdir()
    (folder / "main.cpp").write_text(program)
    (folder / "CMakeLists.txt").write_text(project)
    sanitizers = f"-fsanitize={arguments.sanitizers}" if arguments.sanitizers else ""
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={arguments.compiler}", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror {sanitizers}")
    run("cmake", "--build", folder / "build")
    return folder / "build" / "my_server"


def check_life(binary, coordinator, end):
    server = subprocess.Popen([binary], stdin=subprocess.PIPE,
                              env={**os.environ, "LMCACHE_COORDINATOR_URL": coordinator.url})
    try:
        wait_until("it registers", lambda: len(coordinator.instances()) == 1)
        row = coordinator.instances()[0]
        if (row["ip"], row["http_port"]) != ("127.0.0.1", 8080):
            sys.exit(f"registered as {row}")
        end(server)
        status = server.wait(PATIENCE)
        if status != 0:
            sys.exit(f"ended with status {status}")
        if coordinator.instances():
            sys.exit("still listed after its end")
    finally:
        server.kill()
        server.wait()


def check_refusal(binary):
    """A configuration that makes no sense is named, and nothing is started."""
    refused = subprocess.run([binary], env={**os.environ, "LMCACHE_COORDINATOR_URL": "http://127.0.0.1:9300",
                                            "LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL": "often"},
                             stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    if refused.returncode != 2 or not refused.stderr.startswith("LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL: must be "):
        sys.exit(f"status {refused.returncode}: {refused.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="build folder of this project")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder to work in; emptied first")
    parser.add_argument("--page", required=True, type=pathlib.Path, help="docs/registrar.md")
    parser.add_argument("--readme", required=True, type=pathlib.Path, help="README.md")
    parser.add_argument("--coordinator", required=True, help="the coordinator's program")
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--sanitizers", default="", help="with which this project was built")
    arguments = parser.parse_args()

    shutil.rmtree(arguments.work, ignore_errors=True)
    prefix = arguments.work / "prefix"
    prefix.mkdir(parents=True)
    run("cmake", "--install", arguments.build, "--component", "mp_registrar", "--prefix", prefix)
    check_headers(prefix / "include" / "mp_registrar")

    coordinator = Coordinator(arguments.coordinator, arguments.work / "coordinator.log")
    try:
        for name, program, project in examples(arguments.page.read_text()):
            binary = build(arguments, prefix, arguments.work / name, program, project)
            check_life(binary, coordinator, lambda server: server.send_signal(signal.SIGTERM))
            check_refusal(binary)
            if name == "library":
                program = readme_example(arguments.readme.read_text(), coordinator.url)
                binary = build(arguments, prefix, arguments.work / "readme", program, project)
                check_life(binary, coordinator, lambda server: server.stdin.close())
    finally:
        coordinator.process.terminate()
        coordinator.process.wait()


if __name__ == "__main__":
    main()
