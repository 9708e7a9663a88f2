"""The programs of a run: a cluster, one relay for each way to reach it, and the simulated APNs."""

from soak.stack import Stack

from .patroni import PatroniCluster

WAYS = 3


class ClusterStack(Stack):
    def __init__(self, binaries, keep):
        super().__init__("postgres", binaries, keep, usual=False, relays=WAYS)

    def open_database(self):
        return PatroniCluster()

    def database_url(self, index):
        return list(self.database.urls.values())[index]

    def way(self, index):
        return list(self.database.urls)[index]
