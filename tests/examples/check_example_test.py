# SPDX-License-Identifier: BSL-1.0
"""A check that cannot fail is a defect: whatever an example does wrong is noticed."""

import unittest

from check_example import objections

SOURCE = "// Of locks.\n//\n// Prints:\n//     token N\n//     (done)\n\nint main() {}\n"


class Check(unittest.TestCase):
    def test_what_was_promised_is_accepted(self):
        self.assertEqual(objections(SOURCE, 0, "token 1024\n(done)\n", ""), [])

    def test_everything_else_is_not(self):
        for code, printed, complaints in (
            (1, "token 1\n(done)\n", ""),
            (-6, "token 1\n(done)\n", ""),
            (0, "token 1\n(done)\n", "leaked"),
            (0, "token x\n(done)\n", ""),
            (0, "token 1\ndone\n", ""),
            (0, "token 1\n", ""),
            (0, "token 1\n(done)\nmore\n", ""),
            (0, "(done)\ntoken 1\n", ""),
        ):
            self.assertEqual(len(objections(SOURCE, code, printed, complaints)) > 0, True, printed)

    def test_a_source_that_promises_nothing_is_not_accepted(self):
        self.assertNotEqual(objections("int main() {}\n", 0, "", ""), [])


if __name__ == "__main__":
    unittest.main()
