"""The programs of a run: a cluster, one relay for each way to it, and the simulated APNs."""

import signal

from soak.stack import Stack

from .patroni import PatroniCluster

WAYS = 3


class ClusterStack(Stack):
    def __init__(self, binaries, keep):
        super().__init__("postgres", binaries, keep, usual=False, relays=WAYS)

    def __exit__(self, *failure):
        # A second Ctrl-C would leave servers behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().__exit__(*failure)

    def open_database(self):
        return PatroniCluster()

    def database_url(self, index):
        return list(self.database.urls.values())[index]

    def way(self, index):
        return list(self.database.urls)[index]
