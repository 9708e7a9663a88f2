#!/usr/bin/env python3
"""Tests that a soak's account finds what it looks for. Run: Tests/Soak/account_tests.py"""

import contextlib
import io
import random
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Support")]

from soak import activities, load, questions, schedules  # noqa: E402
from soak.account import Account, REMOVAL_GRACE, milliseconds  # noqa: E402
from soak.exactly_once import IN_FLIGHT, LEASE, OccurrenceAccount  # noqa: E402
from soak.probe import Comparison, Probe  # noqa: E402

SESSION, TOKEN, DEVICE = "ses_1", "00" * 28 + "0badcafe", "…0badcafe"


class Stack:
    """Programs that don't exist."""

    ports = [1]
    outcomes = {}

    @classmethod
    def outcomes_of_schedules(cls):
        return cls.outcomes

    class database:
        rows = {}
        failed = set()

        @classmethod
        def ends(cls):
            return cls.rows

        @classmethod
        def sessions_of_failures(cls, _):
            return cls.failed


class Client:
    """Relays that all give one response."""

    answer = {}

    def post(self, *_):
        return 200, self.answer

    def post_until_done(self, *_):
        return self.answer, 1


class Accounting(unittest.TestCase):
    def setUp(self):
        Stack.database.rows, Stack.database.failed, Stack.outcomes = {}, set(), {}
        self.account = Account(Stack)

    def answer(self, status, session=SESSION, attempts=1, **more):
        delivery = {"device": DEVICE, "status": status, "apnsID": "id-1", **more}
        counts = {name: int(name == status) for name in ("sent", "failed", "queued")}
        self.account.answered(session, {**counts, "deliveries": [delivery]}, attempts)

    def arrive(self, at=None, status=200):
        self.account._received({
            "deviceToken": TOKEN, "payload": {"sessionID": SESSION}, "status": status,
            "receivedAt": at or milliseconds()})

    def differences(self):
        with contextlib.redirect_stdout(io.StringIO()):
            status = self.account.settle()
        self.assertEqual(status, 1 if self.account.differences else 0)
        return self.account.differences

    def assertDiffers(self, words):
        self.assertTrue(any(words in difference for difference in self.differences()), self.account.differences)


class AccountTests(Accounting):
    def test_what_arrived_adds_up(self):
        self.answer("sent")
        self.arrive()
        self.assertEqual(self.differences(), [])

    def test_sent_that_did_not_arrive(self):
        self.answer("sent")
        self.arrive(status=429)
        self.assertDiffers("reported as sent but did not arrive")

    def test_failed_that_arrived(self):
        self.answer("failed", reason="BadTopic")
        self.arrive()
        self.assertDiffers("reported as failed")

    def test_failed_for_a_removal_that_nobody_saw(self):
        self.answer("failed", reason="DeviceRemoved")
        self.arrive()
        self.assertDiffers("reported as failed")

    def test_on_its_way_and_not_stored_because_its_device_left(self):
        self.account.removals[DEVICE] = milliseconds()
        self.answer("failed", reason="DeviceRemoved")
        self.arrive()
        self.assertEqual(self.differences(), [])

    def unregister(self, is_gone=True, attempts=1):
        """A push that arrives, and is then refused because the device is gone."""
        if is_gone:
            self.account.given_up(TOKEN)
        self.answer("failed", attempts=attempts, reason="Unregistered")
        self.arrive()

    def test_unregistered_after_its_event_was_posted_again(self):
        self.unregister(attempts=2)
        self.assertEqual(self.differences(), [])

    def test_unregistered_after_a_lost_response(self):
        with self.account.fault("cuts"):
            self.unregister()
        self.assertEqual(self.differences(), [])

    def test_unregistered_although_it_arrived_and_nothing_was_lost(self):
        self.unregister()
        self.assertDiffers("reported as failed")

    def test_unregistered_although_its_device_stayed(self):
        self.unregister(is_gone=False, attempts=2)
        self.assertDiffers("reported as failed")

    def test_refused_payload_of_a_notification_that_arrived(self):
        self.answer("failed", attempts=2, reason="BadRequestPayload")
        self.arrive()
        self.assertDiffers("reported as failed")

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


class PartsTests(Accounting):
    """Pushes that are sent later, again and to activities."""

    def setUp(self):
        super().setUp()
        parts = Stack, self.account, Client(), []
        self.account.schedules = schedules.Schedules(*parts)
        self.account.questions = questions.Questions(*parts)
        self.account.activities = activities.Activities(*parts)
        self.account.questions.ended = 1_000
        self.answer("sent")
        self.arrive()

    def push(self, session, push="id-2", at=None):
        self.account._received({
            "deviceToken": TOKEN, "payload": {"sessionID": session}, "status": 200, "headers": {"apns-id": push},
            "receivedAt": at or milliseconds()})

    def update(self, event, timestamp, push, status=200):
        self.account._received({
            "deviceToken": TOKEN, "payload": {"aps": {"event": event, "timestamp": timestamp}}, "status": status,
            "headers": {"apns-id": push}, "receivedAt": milliseconds()})

    def ask(self, asked, **more):
        question = questions.Question("secret", "per_1", asked, {"id-2"})
        for name, value in more.items():
            setattr(question, name, value)
        self.account.questions.asked["ses_ask_1"] = question
        self.push("ses_ask_1")

    def test_the_load_needs_no_options(self):
        # Other runs also make this rule.
        load.Load(Stack, self.account, random.Random(1), 150)

    def test_scheduled_and_arrived(self):
        self.account.schedules.due["ses_later_1"] = "id-of-1"
        self.push("ses_later_1")
        self.assertEqual(self.differences(), [])

    def test_scheduled_and_failed(self):
        self.account.schedules.due["ses_later_1"] = "id-of-1"
        Stack.database.failed = {"ses_later_1"}
        self.assertEqual(self.differences(), [])

    def test_scheduled_and_nowhere(self):
        self.account.schedules.due["ses_later_1"] = "id-of-1"
        self.assertDiffers("neither arrived nor failed")

    def test_scheduled_and_failed_as_a_killed_relay_wrote(self):
        self.account.schedules.due["ses_later_1"] = "id-of-1"
        Stack.outcomes = {"id-of-1": "failed"}
        self.assertEqual(self.differences(), [])

    def test_scheduled_and_sent_as_a_relay_wrote(self):
        self.account.schedules.due["ses_later_1"] = "id-of-1"
        Stack.outcomes = {"id-of-1": "sent"}
        self.assertDiffers("outcome sent")

    def test_scheduled_and_arrived_twice(self):
        self.account.schedules.due["ses_later_1"] = "id-of-1"
        self.push("ses_later_1")
        self.push("ses_later_1")
        self.assertDiffers("no answer was lost")

    def test_cancelled_and_arrived(self):
        self.account.schedules.cancelled.add("ses_later_1")
        self.push("ses_later_1")
        self.assertDiffers("cancelled before it was due")

    def test_acknowledged_and_quiet(self):
        self.ask(1, is_quiet=True)
        self.assertEqual(self.differences(), [])

    def test_acknowledged_and_rang_again(self):
        self.ask(1, is_quiet=True)
        self.push("ses_ask_1", "id-3")
        self.assertDiffers("rang again")

    def ring_twice(self, attempts):
        """A question that rings a second time at once, with another apns-id."""
        self.ask(time.time() - 10, is_quiet=True)
        self.account.repeated("ses_ask_1", attempts)
        self.push("ses_ask_1", "id-3", at=milliseconds() - 9_000)

    def test_rang_twice_because_its_event_was_posted_again(self):
        self.ring_twice(attempts=2)
        self.assertEqual(self.differences(), [])

    def test_rang_twice_although_its_event_was_posted_once(self):
        self.ring_twice(attempts=1)
        self.assertDiffers("rang again")

    def test_not_acknowledged_and_rang_again(self):
        self.ask(1)
        self.push("ses_ask_1", "id-3")
        self.assertEqual(self.differences(), [])

    def test_not_acknowledged_and_quiet(self):
        self.ask(1)
        self.assertDiffers("rang only once")

    def test_a_reply_that_a_relay_forgot(self):
        self.ask(1, is_quiet=True, reply="yes")
        self.account.questions.end(None, None)
        self.assertDiffers("the reply was kept")

    def start_activity(self, ended):
        activity = activities.Activity("ses_live_1")
        activity.ended = ended
        self.account.activities.of[DEVICE] = activity
        self.update("update", 1, "id-3")

    def test_an_activity_that_ended(self):
        self.start_activity("sent")
        self.update("end", 2, "id-4")
        self.assertEqual(self.differences(), [])

    def test_an_activity_whose_end_was_refused(self):
        self.start_activity("sent")
        self.update("end", 2, "id-4", status=400)
        self.assertDiffers("it shows update")

    def test_an_activity_that_goes_on_after_its_end(self):
        self.start_activity("sent")
        self.update("end", 2, "id-4")
        self.update("update", 3, "id-5")
        self.assertDiffers("it shows update")

    def end_again(self, attempts):
        """An end that arrives, and is refused when it is sent again."""
        self.start_activity("failed")
        self.update("end", 2, "id-4")
        self.answer("failed", "ses_live_1", attempts, reason="BadRequestPayload")

    def test_an_end_sent_again_because_its_event_was_posted_again(self):
        self.end_again(attempts=2)
        self.assertEqual(self.differences(), [])

    def test_an_end_sent_again_although_its_event_was_posted_once(self):
        self.end_again(attempts=1)
        self.assertDiffers("reported as failed")

    def test_two_states_of_one_second(self):
        self.start_activity(None)
        self.update("update", 1, "id-4")
        self.assertDiffers("two states")


class OccurrenceTests(unittest.TestCase):
    """Many occurrences due at one moment, with kills in between."""

    DUE = 1_000_000
    KILL = DUE + 5_000

    def setUp(self):
        self.account = OccurrenceAccount(self.DUE)
        self.account.expect("a")

    def arrive(self, at=KILL - 100, schedule="a", connection=1, status=200, due=DUE):
        self.account.received({
            "receivedAt": at, "connection": connection, "status": status,
            "payload": {"eventID": f"sched:{schedule}:{due}"}})

    def again(self, after=LEASE + 40_000, **first):
        """A first push, a kill, and the same push from another relay."""
        self.arrive(**first)
        self.account.killed(0, self.KILL)
        self.arrive(self.KILL + after, first.get("schedule", "a"), connection=2)

    def assertDiffers(self, words, count=1):
        self.assertEqual(len([text for text in self.account.settle() if words in text]), count, self.account.differences)

    def test_each_arrived_once(self):
        self.account.expect("b")
        self.arrive()
        self.arrive(schedule="b")
        self.account.received({"receivedAt": self.DUE, "connection": 1, "status": 200, "payload": {}})
        self.assertEqual(self.account.settle(), [])
        self.assertEqual(self.account.repeated, 0)

    def test_one_is_lost(self):
        self.account.expect("b")
        self.arrive()
        self.assertDiffers("sched:b:1000000: never arrived")

    def test_one_that_apns_refused_is_lost(self):
        self.arrive(status=429)
        self.assertDiffers("never arrived")

    def test_again_after_a_kill(self):
        self.again()
        self.assertEqual(self.account.settle(), [])
        self.assertEqual((self.account.repeated, self.account.kills[0].lost), (1, 1))

    def test_again_without_a_kill(self):
        self.arrive()
        self.arrive(self.KILL + 100_000)
        self.assertDiffers("no kill lost the answer")

    def test_again_though_it_was_answered_long_before_the_kill(self):
        self.again(at=self.KILL - 3_100)
        self.assertDiffers("no kill lost the answer")

    def test_again_though_it_was_sent_after_the_kill(self):
        self.again(at=self.KILL + 1_100)
        self.assertDiffers("no kill lost the answer")

    def test_again_though_the_relay_that_sent_it_lived_on(self):
        self.account.expect("b")
        self.arrive(self.KILL + 2_000, schedule="b")
        self.again()
        self.assertDiffers("no kill lost the answer")

    def test_again_at_once(self):
        self.again(after=200)
        self.assertDiffers("while its sender's lease lasted")

    def test_again_at_once_where_a_start_ends_leases(self):
        self.account.lease = 0
        self.again(after=200)
        self.assertEqual(self.account.settle(), [])

    def test_again_before_the_kill(self):
        self.account.lease = 0
        self.again(after=-10)
        self.assertDiffers("no kill lost the answer")

    def test_a_third_time_after_one_kill(self):
        self.again()
        self.arrive(self.KILL + 300_000, connection=2)
        self.assertDiffers("no kill lost the answer")

    def test_more_than_were_in_flight(self):
        for number in range(IN_FLIGHT + 1):
            self.account.expect(str(number))
            self.again(schedule=str(number))
        self.account.kills = self.account.kills[:1]
        self.arrive()
        self.assertDiffers(f"{IN_FLIGHT + 1} occurrences were sent again")

    def test_close_kills_share_what_they_lost(self):
        for number in range(IN_FLIGHT + 1):
            self.account.expect(str(number))
            self.again(schedule=str(number))
        self.account.kills = self.account.kills[:2]
        self.arrive()
        self.assertEqual(self.account.settle(), [])

    def test_too_early(self):
        self.arrive(self.DUE - 1)
        self.assertDiffers("1 ms before it was due")

    def test_one_that_nobody_scheduled(self):
        self.arrive()
        self.arrive(schedule="b")
        self.arrive(due=self.DUE + 1)
        self.assertDiffers("no schedule has it", count=2)


class ProbeTests(unittest.TestCase):
    """How long new events took during a burst."""

    def test_as_fast_as_before(self):
        self.assertEqual(Comparison([0.1] * 99, [0.9] * 99, 1).differences, [])

    def test_slower_than_the_bound(self):
        self.assertEqual(len(Comparison([0.1] * 99, [0.1] * 90 + [1.1] * 9, 1).differences), 1)

    def test_nothing_was_measured(self):
        self.assertEqual(Comparison([0.1], [], 1).differences, ["no new event was measured"])

    def test_only_requests_of_a_killed_relay_may_fail(self):
        probe = Probe(Stack)
        probe.outages = [(10, 11)]
        probe.failures = [(9.9, 10.1, 0), (10.5, 10.6, 0), (8, 9, 0), (10.5, 10.6, 503)]
        self.assertEqual(probe.cut(), (2, [0, 503]))


if __name__ == "__main__":
    unittest.main()
