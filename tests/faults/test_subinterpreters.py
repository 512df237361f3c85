"""A second interpreter in the process is refused by an ImportError, and the first one goes on."""

from processes import run_process

CODE = """
import numpy as np
import sowreap as sr
try:
    import _interpreters as interpreters  # from 3.13
except ImportError:
    import _xxsubinterpreters as interpreters

inside = '''
import contextlib, io
with contextlib.redirect_stderr(io.StringIO()):  # where NumPy repeats the reason
    try:
        import sowreap
    except ImportError:
        print("refused", flush=True)
    else:
        print("imported", sowreap.gather([5, 6], [1]), flush=True)
'''
for _ in range(2):
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, inside)
    interpreters.destroy(interpreter)
    assert sr.gather(np.arange(5), [1, 2]).tolist() == [1, 2]
"""


def test_refused():
    """NumPy, which comes first, loads once a process."""
    assert run_process(CODE) == "refused\nrefused\n"
