# SPDX-License-Identifier: BSL-1.0
"""A check that cannot fail is a defect: whatever is wrong with a model is noticed."""

import contextlib
import io
import pathlib
import subprocess
import tempfile
import unittest

import check_models

MODEL = """/*
 * search all: {search}
 * fault BAD of all: x is two
 */
byte x;
active proctype p() {{
    x = 1;
#ifdef BAD
    {fault};
#endif
    {body}
}}
{more}
"""


def text(search="safety", fault="x = 2", body="assert(x == 1)", more=""):
    return MODEL.format(search=search, fault=fault, body=body, more=more)


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "small.pml"

    def objection(self, model):
        """What the check says of it; nothing if it is content."""
        self.model.write_text(model, encoding="utf-8")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                check_models.check(self.model, self.folder / "kept")
        except check_models.Failure as failure:
            return str(failure)
        return ""

    def test_a_sound_model_is_accepted(self):
        self.assertEqual(self.objection(text()), "")

    def test_an_error_is_found_and_its_last_line_replays_it(self):
        said = self.objection(text(body="assert(x == 3)"))
        self.assertIn("assertion violated", said)
        replayed = subprocess.run(said.splitlines()[-1], shell=True, capture_output=True,
                                  text=True, check=False)
        self.assertIn("text of failed assertion: assert((x==3))", replayed.stdout)

    def test_a_state_without_a_way_on_is_found(self):
        self.assertIn("invalid end state", self.objection(text(body="x == 3")))

    def test_a_run_without_an_end_is_found_by_cycles_and_by_a_formula_only(self):
        endless = "do\n    :: x = 3 - x\n    od"
        self.assertEqual(self.objection(text(fault="assert(false)", body=endless)), "")
        self.assertIn("non-progress cycle", self.objection(text("cycles", body=endless)))
        formula = "ltl zero { <> (x == 0 && p@end) }"
        broken = self.objection(text("ltl zero", body=endless + ";\nend: skip", more=formula))
        self.assertIn("acceptance cycle", broken)

    def test_a_fault_that_is_not_found_is_an_error(self):
        said = self.objection(text(fault="x = 1"))
        self.assertIn("the fault BAD is not found", said)
        self.assertIn("-DBAD", said.splitlines()[-1])

    def test_a_line_that_is_never_reached_is_an_error(self):
        never = "if\n    :: x == 7 ->\n        x = 8\n    :: else\n    fi; assert(x == 1)"
        self.assertRegex(self.objection(text(body=never)), r"never reached in .*: line 13$")

    def test_a_search_that_was_cut_short_is_an_error(self):
        depth = check_models.DEPTH_MAX
        self.addCleanup(setattr, check_models, "DEPTH_MAX", depth)
        check_models.DEPTH_MAX = 20
        count = "do\n    :: x < 100 -> x++\n    :: x == 100 -> break\n    od"
        self.assertIn("not complete", self.objection(text(fault="assert(false)", body=count)))

    def test_what_spin_does_not_understand_is_an_error(self):
        self.assertIn("spin failed", self.objection(text(body="assert(y == 1)")))

    def test_a_plan_must_be_whole(self):
        for model, said in (
            (text().replace(" * search all: safety\n", ""), "names no search"),
            (text().replace(" * fault BAD of all: x is two\n", ""), "or no fault"),
            (text("speed"), "not understood"),
            (text().replace("BAD of all", "BAD of other"), "unknown search"),
            (text().replace("#ifdef BAD", "#ifdef GOOD"), "nothing depends on the fault BAD"),
        ):
            with self.subTest(said=said):
                self.assertIn(said, self.objection(model))


if __name__ == "__main__":
    unittest.main()
