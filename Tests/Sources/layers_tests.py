#!/usr/bin/env python3
"""Tests of Tests/Sources/layers."""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

SCRIPT = str(Path(__file__).with_name("layers"))
LOADER = importlib.machinery.SourceFileLoader("layers", SCRIPT)
layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("layers", LOADER))
LOADER.exec_module(layers)


def file_cycles(files):
    """The cycles among {path: code}."""
    return layers.cycles(layers.uses({Path(path): layers.IGNORED.sub(" ", code) for path, code in files.items()}))


def folder_cycles(files):
    """The cycles among the folders of {path: code}."""
    graph = layers.uses({Path(path): layers.IGNORED.sub(" ", code) for path, code in files.items()})
    return layers.cycles(layers.folders(graph))


class Layers(unittest.TestCase):
    def test_one_direction_is_allowed(self):
        files = {"Routes/A.swift": "struct A { let b: B }", "Model/B.swift": "package struct B {}"}
        self.assertEqual(folder_cycles(files), [])

    def test_two_directions_are_found(self):
        files = {"Routes/A.swift": "struct A { let b: B }", "Model/B.swift": "enum B { case a(A) }"}
        self.assertEqual(folder_cycles(files), [("Model", "Routes")])

    def test_a_cycle_of_three_folders_is_found(self):
        files = {"X/A.swift": "struct A { let b: B }", "Y/B.swift": "struct B { let c: C }",
                 "Z/C.swift": "final class C { var a: A? }"}
        self.assertEqual(folder_cycles(files), [("X", "Y", "Z")])

    def test_folders_that_use_each_other_through_different_files_are_found(self):
        files = {"X/A.swift": "struct A { let b: B }", "X/C.swift": "struct C {}",
                 "Y/B.swift": "struct B {}", "Y/D.swift": "struct D { let c: C }"}
        self.assertEqual(folder_cycles(files), [("X", "Y")])
        self.assertEqual(file_cycles(files), [])

    def test_files_outside_any_folder_count(self):
        files = {"A.swift": "struct A { let b: B }", "Y/B.swift": "struct B { let a: A }"}
        self.assertEqual(folder_cycles(files), [(".", "Y")])

    def test_cycles_of_files_are_found(self):
        files = {f"X/{name}.swift": f"struct {name} {{ let next: {following} }}"
                 for name, following in zip("ABCDE", "BCDEA")}
        self.assertEqual([len(group) for group in file_cycles(files)], [5])

    def test_comments_and_strings_do_not_count(self):
        files = {"X/A.swift": "struct A { let b: B }", "Y/B.swift": 'struct B { /* A */ let text = "A" } // A'}
        self.assertEqual(folder_cycles(files), [])


if __name__ == "__main__":
    unittest.main()
