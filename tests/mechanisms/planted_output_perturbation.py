"""Planted bugs in regressions with noise on their coefficients."""

from __future__ import annotations

from tests.mutation.form import mutant

OUTPUT_PERTURBATION = "mechanisms/ridge/output_perturbation.py"

HIDDEN = "tests/release/test_output_perturbation_files.py::test_what_only_the_mechanism_knows_is_a_verdict"

PLANTED = {
    "a regression of centred rows": mutant(
        (OUTPUT_PERTURBATION, "    neighbors=(REPLACE,),\n", '    neighbors=(REPLACE,),\n    centring="homogeneous",\n'),
        by="tests/mechanisms/test_output_perturbation.py::TestBeforeReading::test_rows_that_it_does_not_serve",
    ),
    "a penalty in other units": mutant(
        (OUTPUT_PERTURBATION, "unit_alpha(alpha, encoding.row_norm)", "unit_alpha(alpha, 1.0)"),
        by="tests/mechanisms/test_output_perturbation.py::TestNoiseOff::test_rows_of_another_norm[7.0]",
    ),
    "a file's coefficients not compared with its options": mutant(
        (OUTPUT_PERTURBATION, "answer.question != _regression(encoding, transcript.n, place, penalty)", "False"),
        by=(HIDDEN + "[target=0]", HIDDEN + "[alpha=0.99]", HIDDEN + "[another norm]"),
    ),
}
