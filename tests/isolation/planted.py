"""Planted bugs in isolated releases: walls that are missing, and words that cross."""

from __future__ import annotations

from tests.mutation.form import mutant

CHILD = "isolation/child.py"
PARENT = "isolation/parent.py"
WALLS = "isolation/walls.py"

ISOLATED = "tests/isolation/test_isolated.py::"
TRIED = "tests/isolation/test_walls.py::"
LOOPBACK = TRIED + "TestTheNetwork::test_a_listener_on_loopback_cannot_be_reached"
MEMORY = TRIED + "TestMemory::test_there_is_no_core_dump_and_nobody_may_read"
WITHOUT = TRIED + "TestWithoutWalls::test_each_is_raised_or_none"

PLANTED = {
    "a process that keeps its network": mutant(
        (WALLS, "unshare(CLONE_NEWUSER | CLONE_NEWNET)", "unshare(CLONE_NEWUSER)"),
        (WALLS, "if NETWORK.readlink() == before:", "if False:"),
        by=LOOPBACK,
    ),
    "a network that could not be left is kept in silence": mutant(
        (WALLS, 'raise NoWalls(f"no network namespace: {_why()}")', "return"), by=WITHOUT
    ),
    "a wall that could not be raised is left out": mutant(
        (WALLS, 'raise NoWalls(f"no {what}: {_why()}")', "return"), by=WITHOUT
    ),
    "a core dump of the rows": mutant((WALLS, "    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n", ""), by=MEMORY),
    "memory that the same user can read": mutant(
        (WALLS, "PR_SET_DUMPABLE, 0)", "PR_SET_DUMPABLE, 1)"),
        by=(MEMORY, TRIED + "TestMemory::test_another_process_of_the_same_user_cannot_read_it"),
    ),
    "programs with new privileges": mutant((WALLS, "PR_SET_NO_NEW_PRIVS, 1)", "PR_SET_DUMPABLE, 1)"), by=MEMORY),
    "a process that survives the one that started it": mutant(
        (WALLS, "PR_SET_PDEATHSIG, signal.SIGKILL)", "PR_SET_PDEATHSIG, 0)"),
        by=TRIED + "TestTheEnd::test_it_ends_with_the_process_that_started_it",
    ),
    "a parent that was gone already": mutant(
        (WALLS, "if os.getppid() != parent:", "if False:"), by=TRIED + "TestTheEnd::test_one_whose_parent_is_gone_already_ends"
    ),
    "an isolated process that writes files": mutant(
        (CHILD, 'asked[:1] == b"w"', 'asked[:1] != b"w"'), by=TRIED + "TestFiles::test_it_writes_no_file"
    ),
    "temporary files": mutant(
        (WALLS, "    tempfile.tempdir = os.devnull  # nothing is made there\n", ""),
        by=TRIED + "TestFiles::test_it_writes_no_file",
    ),
    "files of the parent stay open": mutant(
        (PARENT, "pass_fds=(theirs, mine)", "pass_fds=(theirs, mine, *range(3, 32))"),
        by=TRIED + "TestFiles::test_it_has_its_two_pipes_and_nothing_else",
    ),
    "the whole environment": mutant(
        (PARENT, "if name in KEPT or name.endswith", "if True or name.endswith"),
        by=TRIED + "TestFiles::test_its_surroundings_tell_nothing",
    ),
    "what an isolated process prints": mutant(
        (PARENT, "stderr=subprocess.DEVNULL", "stderr=None"),
        by=ISOLATED + "TestWhatCrosses::test_an_error_that_quotes_a_cell_does_not_cross",
    ),
    "an error of any kind crosses": mutant(
        (CHILD, '        return {"failed": BUG}', '        return {"failed": "EngineError", "said": str(sys.exc_info()[1])}'),
        (CHILD, "import pickle\n", "import pickle\nimport sys\n"),
        by=ISOLATED + "TestWhatCrosses::test_an_error_that_quotes_a_cell_does_not_cross",
    ),
    "whatever kind an isolated process names is raised": mutant(
        (PARENT, "if failed not in DECLARED:", "if False:"),
        by=ISOLATED + "TestWhatCrosses::test_an_error_of_another_kind_is_one_generic_line",
    ),
    "an isolated process may write on a terminal": mutant(
        (PARENT, 'printable(answer.get("said", ""), LONGEST)', 'answer.get("said", "")'),
        by=ISOLATED + "TestWhatCrosses::test_words_are_cut_and_cannot_steer_a_terminal",
    ),
    "what an isolated process started lives on": mutant(
        (PARENT, "        os.killpg(process.pid, signal.SIGKILL)\n", "        pass\n"),
        by=TRIED + "TestTheEnd::test_what_it_started_ends_with_it",
    ),
    "programs that can answer in its place": mutant(
        (CHILD, "    os.set_inheritable(answers, False)", "    pass"),
        by=TRIED + "TestTheEnd::test_a_program_that_it_starts_cannot_answer",
    ),
    "an isolated process that lives on": mutant(
        (PARENT, "            _end(process)\n", ""), by=ISOLATED + "TestReleases::test_no_process_is_left"
    ),
    "addresses": mutant(
        (PARENT, " or is_remote(os.fspath(path)):", ":"),
        by=ISOLATED + "test_what_cannot_be_isolated_is_refused_before_a_process_starts",
    ),
}
