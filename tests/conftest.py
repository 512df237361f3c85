"""Settings of every test run."""

import os

import pytest
from hypothesis import settings

import sowreap

# Examples are the same in every run, so that a failure belongs to a change; the profile "explore"
# draws new ones, and more. Nothing depends on the clock.
settings.register_profile(
    "stable", deadline=None, derandomize=True, database=None, max_examples=250
)
settings.register_profile("explore", deadline=None, max_examples=3000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stable"))


@pytest.fixture(autouse=True)
def _keep_threads():
    """No test leaves its number of threads to the next."""
    before = sowreap.get_num_threads()
    yield
    sowreap.set_num_threads(before)
