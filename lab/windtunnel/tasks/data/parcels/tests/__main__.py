"""All tests, with an output that is the same on every machine: no times."""

import io
import sys
import unittest

suite = unittest.defaultTestLoader.loadTestsFromName("tests.test_parcels")
result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
for case, trace in [*result.errors, *result.failures]:
    print(f"{case}: {trace.strip().splitlines()[-1]}")
print(f"{result.testsRun} tests, {len(result.errors) + len(result.failures)} failed")
sys.exit(not result.wasSuccessful())
