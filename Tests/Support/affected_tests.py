#!/usr/bin/env python3
"""Tests of Tests/Support/affected. Run: Tests/Support/affected_tests.py"""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

PROGRAM = str(Path(__file__).resolve().parent / "affected")
loader = importlib.machinery.SourceFileLoader("affected", PROGRAM)
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("affected", loader))
loader.exec_module(module)

TARGETS = [
    {"name": "Network", "type": "library", "path": "Sources/Network"},
    {"name": "JSON", "type": "library", "path": "Sources/JSON"},
    {"name": "Relay", "type": "executable", "path": "Sources/Relay", "target_dependencies": ["Network", "JSON"]},
    {"name": "NetworkTests", "type": "test", "path": "Tests/NetworkTests", "target_dependencies": ["Network"]},
    {"name": "JSONTests", "type": "test", "path": "Tests/JSONTests", "target_dependencies": ["JSON"]},
    {"name": "RelayTests", "type": "test", "path": "Tests/RelayTests", "target_dependencies": ["Relay"]},
    {"name": "EndToEndTests", "type": "test", "path": "Tests/EndToEndTests"},
]


class AffectedTests(unittest.TestCase):
    def expect(self, files, tests):
        self.assertEqual(module.affected(files, TARGETS), set(tests))

    def test_a_library_selects_its_dependents_and_the_tests_that_run_its_programs(self):
        self.expect(["Sources/Network/Loop.swift"], ["NetworkTests", "RelayTests", "EndToEndTests"])

    def test_a_test_selects_itself(self):
        self.expect(["Tests/JSONTests/ParseTests.swift"], ["JSONTests"])

    def test_names_with_a_common_prefix_are_distinguished(self):
        self.expect(["Sources/NetworkOther/a.swift"], [])

    def test_a_page_selects_the_tests_that_read_it(self):
        self.expect(["docs/reference/api.md"], ["RelayTests"])

    def test_the_package_selects_everything(self):
        self.expect(["Package.swift"], ["NetworkTests", "JSONTests", "RelayTests", "EndToEndTests"])


if __name__ == "__main__":
    unittest.main()
