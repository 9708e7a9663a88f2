#!/usr/bin/env python3
"""That the account of a soak finds what it looks for. Run: Tests/Soak/account_tests.py"""

import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from soak.account import Account, REMOVAL_GRACE, milliseconds  # noqa: E402

SESSION, TOKEN, DEVICE = "ses_1", "00" * 28 + "0badcafe", "…0badcafe"


class Stack:
    """Programs that are not there."""

    class database:
        rows = {}

        @classmethod
        def ends(cls):
            return cls.rows


class AccountTests(unittest.TestCase):
    def setUp(self):
        Stack.database.rows = {}
        self.account = Account(Stack)

    def answer(self, status, **more):
        delivery = {"device": DEVICE, "status": status, "apnsID": "id-1", **more}
        counts = {name: int(name == status) for name in ("sent", "failed", "queued")}
        self.account.answered(SESSION, {**counts, "deliveries": [delivery]}, attempts=1)

    def arrive(self, at=None, status=200):
        self.account._received({
            "deviceToken": TOKEN, "payload": {"sessionID": SESSION}, "status": status,
            "receivedAt": at or milliseconds()})

    def differences(self):
        with contextlib.redirect_stdout(io.StringIO()):
            status = self.account.settle(None)
        self.assertEqual(status, 1 if self.account.differences else 0)
        return self.account.differences

    def assertDiffers(self, words):
        self.assertTrue(any(words in difference for difference in self.differences()), self.account.differences)

    def test_what_arrived_adds_up(self):
        self.answer("sent")
        self.arrive()
        self.assertEqual(self.differences(), [])

    def test_sent_that_did_not_arrive(self):
        self.answer("sent")
        self.arrive(status=429)
        self.assertDiffers("answered as sent, and did not arrive")

    def test_failed_that_arrived(self):
        self.answer("failed", reason="BadTopic")
        self.arrive()
        self.assertDiffers("answered as failed")

    def test_failed_for_a_removal_that_nobody_saw(self):
        self.answer("failed", reason="DeviceRemoved")
        self.arrive()
        self.assertDiffers("answered as failed")

    def test_on_its_way_and_not_stored_because_its_device_left(self):
        self.account.removals[DEVICE] = milliseconds()
        self.answer("failed", reason="DeviceRemoved")
        self.arrive()
        self.assertEqual(self.differences(), [])

    def test_queued_that_is_nowhere(self):
        self.answer("queued")
        self.assertDiffers("neither arrived nor ended")

    def test_queued_that_arrived_and_is_not_written_down(self):
        self.answer("queued")
        self.arrive()
        self.assertDiffers("no end is written down")

    def test_queued_that_expired(self):
        self.answer("queued")
        Stack.database.rows = {"id-1": [("failed", "Expired")]}
        self.assertEqual(self.differences(), [])

    def test_queued_with_two_ends(self):
        self.answer("queued")
        self.arrive()
        Stack.database.rows = {"id-1": [("failed", "Expired"), ("sent", "")]}
        self.assertDiffers("2 times")

    def test_queued_whose_end_is_a_lie(self):
        self.answer("queued")
        Stack.database.rows = {"id-1": [("sent", "")]}
        self.assertDiffers("written down as sent")

    def test_queued_that_ended_with_its_device(self):
        self.answer("queued")
        self.account.removed(TOKEN)
        Stack.database.rows = {"id-1": [("failed", "DeviceRemoved")]}
        self.assertEqual(self.differences(), [])

    def test_queued_that_ended_with_a_device_that_is_there(self):
        self.answer("queued")
        Stack.database.rows = {"id-1": [("failed", "DeviceRemoved")]}
        self.assertDiffers("nobody removed the device")

    def test_queued_dropped_with_its_device(self):
        self.answer("queued")
        self.account.removed(TOKEN)
        self.assertDiffers("neither arrived nor ended")

    def test_a_removed_device_is_pushed_to(self):
        self.answer("sent")
        self.account.removed(TOKEN)
        self.arrive(milliseconds() + REMOVAL_GRACE * 1000 + 1000)
        self.assertDiffers("after the device's removal")

    def test_a_duplicate_without_a_fault(self):
        self.answer("sent")
        self.arrive()
        self.arrive()
        self.assertDiffers("no answer was lost")

    def test_a_duplicate_after_a_lost_answer(self):
        self.answer("queued")
        Stack.database.rows = {"id-1": [("sent", "")]}
        self.arrive()
        with self.account.fault("cuts"):
            pass
        self.arrive(milliseconds() + 1000)
        self.assertEqual(self.differences(), [])

    def test_a_duplicate_after_a_fault_that_loses_nothing(self):
        self.answer("queued")
        Stack.database.rows = {"id-1": [("sent", "")]}
        self.arrive()
        with self.account.fault("too_many"):
            pass
        self.arrive(milliseconds() + 1000)
        self.assertDiffers("no answer was lost")

    def test_two_answers_to_one_event(self):
        self.answer("sent")
        self.arrive()
        self.account.compared(SESSION, [b"{}", b"{ }"])
        self.assertDiffers("two answers")

    def test_no_answer_at_all(self):
        self.assertDiffers("no event was answered")


if __name__ == "__main__":
    unittest.main()
