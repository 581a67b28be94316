"""Each request to a bucket is cut, refused or left without an answer in turn, and publishing is tried once more. At the end the
bucket has exactly the artifacts, once, with the right digest, in its indexes. The tally is printed.
"""

import harness
import publishing
import publish_s3_test
from publish_faults_test import FAULTS


class Faults(publish_s3_test.Case):
    def test_each_request_in_turn(self):
        print(flush=True)
        for what, artifact in (("package", self.package), ("wheel", publishing.pure_wheel(self.scratch))):
            with self.bucket() as bucket:
                self.publish_to(bucket, artifact)
                requests, wanted = len(bucket.server.requests), bucket.server.state()
            for name, fault in FAULTS.items():
                self.each(f"{what}: {name}", fault, artifact, wanted, range(1, requests + 1))

    def test_the_body_of_a_large_file(self):
        wheel = self.big_wheel()
        with self.bucket() as bucket:
            self.publish_to(bucket, wheel)
            wanted = bucket.server.state()
            # The index after it is that of any wheel.
            requests = [one.number for one in bucket.server.requests if one.method == "PUT" and wheel.name in one.target][:1]
        for name in ("cut in the middle of the body", "carried out, no answer", "carried out, answer 500"):
            self.each(f"large: {name}", FAULTS[name], wheel, wanted, requests)

    def each(self, name: str, fault, artifact, wanted: dict, numbers) -> None:
        at_once = 0
        for number in numbers:
            with self.subTest(name, request=number), self.bucket(faults=[fault(number)]) as bucket:
                process = self.start(bucket, artifact)
                said = process.communicate()[0]
                self.assertIn(process.returncode, (0, 7, 8), said)
                self.assertNotIn(publishing.TOKEN, said)
                self.assertTrue(any(one.fault for one in bucket.server.requests))
                at_once += process.returncode == 0
                if process.returncode != 0:
                    self.publish_to(bucket, artifact)
                self.assertEqual(bucket.server.state(), wanted)
        print(f"{name}: {len(numbers)} requests, {at_once} went well at once", flush=True)
        self.assertEqual(at_once, len(numbers))


if __name__ == "__main__":
    harness.main()
