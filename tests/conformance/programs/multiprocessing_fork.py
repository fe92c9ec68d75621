"""CPython's tests of multiprocessing with children of fork.

Some builds of CPython 3.11 leave out the module of that name, but have its tests.
"""

import unittest

from test import _test_multiprocessing

_test_multiprocessing.install_tests_in_module_dict(globals(), "fork")

if __name__ == "__main__":
    unittest.main()
