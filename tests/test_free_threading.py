"""On a Python without the lock the import brings it back: the module does not do without."""

import os
import subprocess
import sys
import sysconfig

import pytest

CODE = "import sys, sowreap; print(sys._is_gil_enabled())"


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has the lock"
)
def test_import_brings_the_lock_back():
    env = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
