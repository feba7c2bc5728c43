"""Planted bugs in what the user says, and in its rehearsal."""

from __future__ import annotations

from tests.mutation.form import mutant

REQUEST = "request.py"

PLANTED = {
    "a rehearsal that forgets what is asked last": mutant(
        ("rehearsal.py", "(*asked, *added)", "asked"),
        by="tests/mechanisms/test_own_mechanism.py::TestTools::test_a_rehearsal_counts_what_may_be_asked_last",
    ),
    "bounds in encoded units": mutant(
        (REQUEST, "matrix / np.outer(scales, scales)", "matrix"),
        by="tests/mechanisms/test_coinpress_confidence.py::test_a_schema_is_a_matter_of_units",
    ),
    "a seed that is looked at before the mechanism": mutant(
        (REQUEST, "    check_budget(budget)\n    named", "    check_seed(seed)\n    check_budget(budget)\n    named"),
        by="tests/api/test_request.py::test_of_several_faults_the_first_in_one_order_is_told[covariance]",
    ),
}
