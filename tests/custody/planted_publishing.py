"""Planted bugs in when a release appears."""

from __future__ import annotations

from tests.mutation.form import mutant

PUBLISHING = "custody/publishing.py"
WAITING = "tests/custody/test_publishing.py::TestWaiting::"

PLANTED = {
    "published as soon as it is done": mutant(
        (PUBLISHING, "            self.wait()\n", "            pass\n"), by=WAITING + "test_no_file_is_there_before"
    ),
    "published as soon as it is done after an overrun": mutant(
        (PUBLISHING, "math.ceil((now - self.at) / self.every)", "((now - self.at) / self.every)"),
        by=WAITING + "test_it_ends_at_the_moment_or_at_the_next_one",
    ),
    "an interrupted wait loses the release": mutant(
        (PUBLISHING, "            put_aside(release, target)\n", ""),
        by=WAITING + "test_what_is_paid_for_is_kept_where_the_wait_is_interrupted",
    ),
    "a release that is not published can be read by all": mutant(
        (PUBLISHING, 'write_secret(aside, text_of(release).encode(), name="path")', "release.save(aside)"),
        by=WAITING + "test_what_is_paid_for_is_kept_where_the_wait_is_interrupted",
    ),
}
