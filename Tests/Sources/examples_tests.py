#!/usr/bin/env python3
"""Tests of Tests/Sources/examples."""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

SCRIPT = str(Path(__file__).with_name("examples"))
LOADER = importlib.machinery.SourceFileLoader("examples", SCRIPT)
examples = importlib.util.module_from_spec(importlib.util.spec_from_loader("examples", LOADER))
LOADER.exec_module(examples)

SOURCE = """
struct Outer {
    /// Doubles a number.
    ///
    /// ```swift
    /// let two = double(1)
    ///
    /// if two == 2 {
    ///     print("two")
    /// }
    /// ```
    func double() {}
}
"""
TEST = """
    @Test func doubles() {
            let two = double(1)

            if two == 2 {
                print("two")
            }
        #expect(two == 2)
    }
"""


def lines(source, *tests):
    """The lines of the problems of a source file."""
    return [line for line, _ in examples.problems(source, [examples.code_of(test) for test in tests])]


class Examples(unittest.TestCase):
    def test_an_example_in_a_test_is_accepted_with_any_indentation(self):
        self.assertEqual(lines(SOURCE, "", TEST), [])

    def test_an_example_in_no_test_is_reported_at_its_fence(self):
        self.assertEqual(lines(SOURCE), [5])

    def test_a_changed_line_is_reported(self):
        self.assertEqual(lines(SOURCE, TEST.replace("double(1)", "double(2)")), [5])

    def test_a_line_between_is_reported(self):
        self.assertEqual(lines(SOURCE, TEST.replace("1)\n\n", "1)\nprint(two)\n\n")), [5])

    def test_part_of_a_line_is_not_enough(self):
        self.assertEqual(lines(SOURCE, TEST.replace("let two", "nonisolated let two")), [5])

    def test_lines_in_a_file_without_a_test_are_not_enough(self):
        self.assertEqual(lines(SOURCE, TEST.replace("@Test ", "")), [5])

    def test_lines_in_a_comment_are_not_enough(self):
        self.assertEqual(lines(SOURCE, TEST.replace("let two", "// let two")), [5])

    def test_an_open_fence_is_reported(self):
        self.assertEqual(lines(SOURCE.replace("    /// ```\n", ""), TEST), [5])

    def test_an_empty_example_is_reported(self):
        self.assertEqual(lines("/// ```swift\n/// ```\nlet a = 1", TEST), [1])

    def test_a_fence_without_a_language_is_reported(self):
        self.assertEqual(lines(SOURCE.replace("```swift", "```"), TEST), [5])

    def test_a_comment_at_the_end_of_the_file_is_read(self):
        self.assertEqual(lines("/// ```swift\n/// run()\n/// ```", TEST), [1])

    def test_code_in_backquotes_within_a_line_is_no_fence(self):
        self.assertEqual(lines("/// The rows that ```Session``` reads.\nlet a = 1"), [])


if __name__ == "__main__":
    unittest.main()
