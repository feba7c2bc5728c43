"""What an isolated process cannot do, each tried in one; and the same in a process without the wall, where it can."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from dpcov.isolation import parent, walls
from tests.isolation.probe import needs_walls, probed

pytestmark = needs_walls

CONNECT = """
import socket
def said():
    try:
        with socket.create_connection(("127.0.0.1", {port}), timeout=5):
            return "connected"
    except OSError as error:
        return type(error).__name__ + ": " + str(error.strerror)
"""
ABSTRACT = """
import socket
def said():
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(chr(0) + {name!r})
            return "connected"
    except OSError as error:
        return str(error.strerror)
"""


class TestTheNetwork:
    def test_a_listener_on_loopback_cannot_be_reached(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            code = CONNECT.format(port=server.getsockname()[1])
            assert probed(monkeypatch, code) == "OSError: Network is unreachable"
            outside: dict[str, object] = {}
            exec(code, outside)
            assert outside["said"]() == "connected"  # type: ignore[operator]

    def test_nor_can_an_abstract_socket(self, monkeypatch: pytest.MonkeyPatch) -> None:
        name = f"dpcov-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("\0" + name)
            server.listen()
            assert probed(monkeypatch, ABSTRACT.format(name=name)) == "Connection refused"

    def test_nothing_is_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code = "def said(): return open('/proc/net/route').read().splitlines()[1:] + open('/proc/net/if_inet6').readlines()"
        assert probed(monkeypatch, code) == []


class TestMemory:
    def test_there_is_no_core_dump_and_nobody_may_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code = """
            import ctypes, os, resource
            def said():
                status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
                return dict(core=resource.getrlimit(resource.RLIMIT_CORE), dumpable=ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
                            privileges=status["NoNewPrivs"], who=[os.getuid(), os.getgid()])
            """
        found = probed(monkeypatch, textwrap.dedent(code))
        assert found == {"core": [0, 0], "dumpable": 0, "privileges": "1", "who": [os.getuid(), os.getgid()]}

    @pytest.mark.parametrize(("walled", "seen"), [(False, "read"), (True, "PermissionError")])
    def test_another_process_of_the_same_user_cannot_read_it(self, walled: bool, seen: str) -> None:
        """As nobody, where the tests run as root, whom nothing keeps out."""
        run = subprocess.run([sys.executable, "-c", SPY, str(int(walled))], capture_output=True, text=True, timeout=60)
        assert run.stdout == seen, run.stderr


SPY = """
import ctypes, os, sys, time
from dpcov.isolation import walls
def nobody():
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as a program that this user started
(heard, told), (read, write) = os.pipe(), os.pipe()
target = os.fork()
if target == 0:
    nobody()
    if int(sys.argv[1]):
        walls.put_up(os.getppid(), may_write=False)
    os.write(told, b"1")
    os.close(write)
    os.read(read, 1)
    os._exit(0)
os.read(heard, 1)
spy = os.fork()
if spy == 0:
    nobody()
    try:
        with open(f"/proc/{target}/maps") as maps:
            start = int(next(maps).split("-")[0], 16)
        memory = os.open(f"/proc/{target}/mem", os.O_RDONLY)
        assert os.pread(memory, 4, start) == bytes([127]) + b"ELF"
        print("read", end="", flush=True)
    except OSError as error:
        print(type(error).__name__, end="", flush=True)
    os._exit(0)
os.waitpid(spy, 0)
os.close(write)
os.waitpid(target, 0)
"""


class TestFiles:
    def test_it_writes_no_file(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        code = f"""
            import tempfile
            def tried(use):
                try:
                    use()
                except OSError as error:
                    return error.strerror
            def write(path):
                with open(path, "wb", buffering=0) as file:
                    file.write(b"rows")
            def said():
                return [tried(lambda: write({str(tmp_path / "out")!r})), tried(tempfile.mkdtemp)]
            """
        assert probed(monkeypatch, textwrap.dedent(code)) == ["File too large", "Not a directory"]
        assert (tmp_path / "out").read_bytes() == b""

    def test_it_has_its_two_pipes_and_nothing_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever this process has open, and has told others to inherit."""
        with Path(__file__).open() as file:
            os.set_inheritable(file.fileno(), True)
            code = "import os\ndef said(): return sorted(os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in (0, 1, 2))"
            assert probed(monkeypatch, code) == ["/dev/null"] * 3
            code = """
import os
def said():
    found = []
    for number in range(3, 4096):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(os.readlink(f"/proc/self/fd/{number}").split(":")[0])
    return found
"""
            assert probed(monkeypatch, code) == ["pipe"]  # for its answer; that with its order is closed by now

    def test_its_surroundings_tell_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Others of the same user can read the command line, and could read the environment."""
        monkeypatch.setenv("SECRET", "SECRET")
        monkeypatch.setenv("PYTHONPATH", "SECRET")
        code = "import os\ndef said(): return [sorted(os.environ), open('/proc/self/cmdline').read()]"
        names, line = probed(monkeypatch, code, b"rSECRET")
        assert all(name in parent.KEPT or name.endswith("_NUM_THREADS") for name in names)
        assert "SECRET" not in line


class TestTheEnd:
    def test_it_ends_with_the_process_that_started_it(self) -> None:
        code = """
            import os, signal, sys, time
            from dpcov.isolation import walls
            child = os.fork()
            if child == 0:
                walls.put_up(os.getppid(), may_write=False)
                print(os.getpid(), flush=True)
                time.sleep(20)
                print("late", flush=True)
                os._exit(0)
            time.sleep(600)
            """
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            child = int(process.stdout.readline())
            assert Path(f"/proc/{child}").exists()
            process.kill()
            assert process.stdout.read() == ""  # which ends when the child does
        await_end(child)

    def test_what_it_started_ends_with_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A helper that a library left behind would hold the rows for longer."""
        code = f"""
            import os, time
            def said():
                child = os.fork()
                if child == 0:
                    os.closerange(0, 256)
                    time.sleep(5)
                    os.mkdir({str(tmp_path / "alive")!r})
                    os._exit(0)
                return child
            """
        await_end(probed(monkeypatch, textwrap.dedent(code)))
        assert not (tmp_path / "alive").exists()

    def test_a_program_that_it_starts_cannot_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code = """
            import subprocess, sys
            def said():
                text = "import os; print(*(n for n in range(3, 256) if os.path.exists(f'/proc/self/fd/{n}')))"
                return subprocess.run([sys.executable, "-c", text], close_fds=False, capture_output=True, text=True).stdout
            """
        assert "pipe" not in probed(
            monkeypatch, textwrap.dedent(code).replace("print(*(n", "print(*(os.readlink(f'/proc/self/fd/{n}')")
        )

    def test_one_whose_parent_is_gone_already_ends(self) -> None:
        code = "import os; from dpcov.isolation import walls; walls.put_up(os.getppid() + 1, may_write=False); print('alive')"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (run.returncode, run.stdout) == (-signal.SIGKILL, "")


def await_end(number: int) -> None:
    """Return when a process has ended: it does by itself, a moment after the one that started it."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while ") Z " not in Path(f"/proc/{number}/stat").read_text():  # or nobody has asked about it yet
            time.sleep(0.01)


class TestWithoutWalls:
    @pytest.mark.parametrize(
        ("call", "number", "said"),
        [("unshare", 1, "not permitted"), ("prctl", 1, "not permitted"), ("unshare", 28, "switched off on this machine")],
    )
    def test_each_is_raised_or_none(self, monkeypatch: pytest.MonkeyPatch, call: str, number: int, said: str) -> None:
        """A system that refuses one of them, as containers do."""
        body = f"""
            import ctypes
            from dpcov.isolation import walls
            class Refusing:
                def __getattr__(self, name):
                    if name == {call!r}:
                        def refused(*arguments):
                            ctypes.set_errno({number})
                            return -1
                        return refused
                    return getattr(ctypes.CDLL(None, use_errno=True), name)
            walls._libc = Refusing
            """
        from tests.isolation import probe

        monkeypatch.setattr(
            parent,
            "START",
            probe.HEAD
            + textwrap.dedent(body).replace("{", "{{").replace("}", "}}")
            + "\nchild.main({parent}, {orders}, {answers})",
        )
        answer = parent._answered(b"r" + b"never read")
        assert answer["failed"] == "walls"
        assert said in answer["said"]

    def test_another_system_has_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "platform", "darwin")
        with pytest.raises(walls.NoWalls, match="not Linux"):
            walls.put_up(os.getppid(), may_write=False)
        assert parent._answered(b"r") == {"failed": "walls", "said": "this system is not Linux"}
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0
