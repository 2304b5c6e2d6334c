"""Forks a loaded interpreter for each Python command line that a client sends: imports cost once.

`python tool_server.py FD` answers at the listening socket FD until standard input ends.
"""

import array
import atexit
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = (
    "filecheck.main",
    "relax_mlir.relax",
    "relax_mlir.script",
    "relax_mlir.te",
    "relax_mlir.tools.relax_compile.session",
    "relax_mlir.tools.relax_opt.session",
    "relax_mlir.tools.relax_run.session",
    "relax_mlir.topi",
    "relax_mlir.transform",
)


def serve(listener: socket.socket) -> None:
    """Answer requests at a socket until standard input ends."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process with threads cannot fork"
    events = selectors.DefaultSelector()
    events.register(sys.stdin, selectors.EVENT_READ)
    events.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in events.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                client, _ = listener.accept()
                pid = os.fork()
                if pid == 0:
                    events.close()
                    listener.close()
                    _run(client)
                events.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, client))
            else:
                events.unregister(key.fileobj)
                os.close(key.fd)
                _answer(*key.data)


def _answer(pid: int, client: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with client:
        # What a shell says of a process that a signal ended.
        client.sendall(b"%d\n" % (code if code >= 0 else 128 - code))


def _run(client: socket.socket) -> NoReturn:
    """Be the process that a client asked for."""
    code = 1
    try:
        _, rights, _, _ = client.recvmsg(1, socket.CMSG_SPACE(3 * array.array("i").itemsize))
        request = json.loads(client.makefile().readline())
        client.close()
        fds = array.array("i")
        for _, _, data in rights:
            fds.frombytes(data)
        _take_streams(dict(zip(request["streams"], fds, strict=True)))
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        code = _execute(request["argv"])
    finally:
        os._exit(code)


def _take_streams(given: dict[int, int]) -> None:
    """Have the client's streams as 0, 1 and 2; those that it closed are None, as in any Python."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if number in given:
            os.dup2(given[number], number)
            os.close(given[number])
            errors = "backslashreplace" if name == "stderr" else None
            file = io.FileIO(number, "w" if number else "r", closefd=False)
            buffer = io.BufferedWriter(file) if number else io.BufferedReader(file)
            stream = io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=number == 2)
        else:
            os.close(number)
            stream = None
        setattr(sys, name, stream)


def _execute(argv: list[str]) -> int:
    """Do what `python *argv` does and return its exit code."""
    try:
        _python(argv)
        code: Any = 0
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


def _python(argv: list[str]) -> None:
    kind = argv[0]
    sys.argv = argv if kind not in ("-m", "-c") else argv[1:]
    if kind == "-m":
        sys.path[0] = str(Path.cwd())
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.path[0] = ""
        sys.argv[0] = "-c"
        exec(compile(argv[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = str(Path(kind).resolve().parent)
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
