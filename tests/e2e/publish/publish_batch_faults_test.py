"""The faults of publish_faults_test.py while several artifacts are under way in one run."""

import harness
import publishing
from publish_faults_test import KINDS, Case


class Batches(Case):
    def test_each_request_in_turn(self):
        print(flush=True)
        wheels = [publishing.pure_wheel(self.scratch, version=version) for version in ("1.0", "1.1", "2.0")]
        self.each_request([self.publishing(kind, wheels if kind == "pypi" else self.both) for kind in KINDS])


if __name__ == "__main__":
    harness.main()
