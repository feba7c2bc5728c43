"""Planted bugs in when a release appears."""

from __future__ import annotations

from tests.mutation.form import mutant

PUBLISHING = "custody/publishing.py"
WAITING = "tests/custody/test_publishing.py::TestWaiting::"

NIGHT = "tests/custody/test_publishing.py::TestTheNightInWhichClocksAreChanged::test_it_is_the_next_time_that_clocks_show"

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
    "what was kept aside before is in the way": mutant(
        (
            PUBLISHING,
            "        except ParameterError:  # there is one\n            continue\n",
            "        except ParameterError:\n            raise\n",
        ),
        by="tests/custody/test_publishing.py::test_what_was_kept_aside_before_is_not_in_the_way",
    ),
    "what cannot be kept aside is lost": mutant(
        ("cli/publishing.py", '        print_paid(made, error, "save that text")\n', "        raise\n"),
        by="tests/cli/test_publishing.py::TestPublishAt::test_it_is_printed_where_it_cannot_be_kept",
    ),
    "an hour that clocks skip, or show twice": mutant(
        (PUBLISHING, " and datetime.fromtimestamp(found.timestamp()) == found:", ":"),
        by=NIGHT + "[2030-03-31T01:00+01:00-02:30-2030-04-01T02:30+02:00]",
    ),
    "a release that is not published can be read by all": mutant(
        (PUBLISHING, 'write_secret(aside, text, name="path")', "release.save(aside)"),
        by=WAITING + "test_what_is_paid_for_is_kept_where_the_wait_is_interrupted",
    ),
}
