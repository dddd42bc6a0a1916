"""Pools, quotas, queues and namespaces as objects: on a cluster without our kinds they are refused, never silently."""

import unittest

from support import Daemon, shared_testbed


class ObjectsOfThePolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = shared_testbed()
        cls.daemon = Daemon({}, bed=cls.bed).start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_reading_them_works(self):
        status, answer = self.daemon.rest("GET", "/api/v1/namespaces")
        self.assertEqual(status, 200)
        self.assertIn("default", [row["name"] for row in answer["items"]])
        self.assertEqual(self.daemon.rest("GET", "/api/v1/quotas")[0], 200)
        self.assertEqual(self.daemon.rest("GET", "/api/v1/pools/default")[1]["source"], "file")


if __name__ == "__main__":
    unittest.main()
