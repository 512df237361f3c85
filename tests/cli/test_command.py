"""The command as a whole: help, version, status on exit, one-line errors, missing extras."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from importlib import metadata

import click
import numpy as np
import pytest
from command_line import SOWREAP, TIMEOUT, error_line, python, sowreap_process

import sowreap
from sowreap import __main__
from sowreap._cli import app, files, op
from sowreap._cli.errors import InputError


def without(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process where `module` cannot be imported."""
    code = f"import sys; sys.modules[{module!r}] = None; import sowreap.__main__ as m; "
    return python("-c", code + "sys.exit(m.main())", *arguments)


def test_help_names_the_commands(command):
    result = command("--help")
    assert result.exit_code == 0
    assert [name for name in ("info", "op", "run") if f"  {name} " in result.stdout] == [
        "info",
        "op",
        "run",
    ]


@pytest.mark.parametrize("path", [("run",), ("info",), ("op",), ("op", "tensor_scatter")])
def test_help_of_each_command_fits_80_columns(command, path):
    result = command(*path, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: sowreap {' '.join(path)} ")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_version(command):
    result = command("--version")
    assert (result.exit_code, result.stdout) == (0, f"sowreap {sowreap.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "Missing command. See: sowreap --help"),
        (("op",), "Missing command. See: sowreap op --help"),
        (("sow",), "No such command 'sow'. See: sowreap --help"),
        (("run",), "Missing argument 'MODEL'. See: sowreap run --help"),
        (("info", "--much"), "No such option '--much'. See: sowreap info --help"),
        (
            ("run", "m", "--repeat", "0"),
            "Invalid value for '--repeat': 0 is not in the range x>=1. See: sowreap run --help",
        ),
    ],
)
def test_usage_error(command, arguments, text):
    assert error_line(command(*arguments)) == text


def test_a_defect_is_not_hidden(command, monkeypatch):
    def defect() -> None:
        raise KeyError("ours")

    monkeypatch.setitem(app.cli.commands, "info", click.Command("info", callback=defect))
    result = command("info")
    assert isinstance(result.exception, KeyError)


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (MemoryError("no room for 8 TB"), "not enough memory: no room for 8 TB"),
        (MemoryError(), "not enough memory: MemoryError"),
        (PermissionError(errno.EACCES, "Permission denied", "x.npy"), "x.npy: Permission denied"),
        (OSError("disk on fire"), "disk on fire"),
        (click.ClickException("two\n lines"), "two lines"),
    ],
)
def test_errors_from_outside_are_one_line(command, monkeypatch, raised, text):
    def fail() -> None:
        if isinstance(raised, click.ClickException):
            raised.exit_code = 2
        raise raised

    monkeypatch.setitem(app.cli.commands, "info", click.Command("info", callback=fail))
    assert error_line(command("info")) == text


def test_interrupt_in_a_command(command, monkeypatch):
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(app.cli.commands, "info", click.Command("info", callback=interrupt))
    assert command("info").exit_code == 130


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_interrupt_of_a_process(tmp_path):
    pipe = tmp_path / "data.npy"
    os.mkfifo(pipe)
    indices = tmp_path / "indices.npy"
    np.save(indices, [0])
    child = subprocess.Popen(
        [*SOWREAP, "op", "gather", pipe, indices], stderr=subprocess.PIPE, text=True
    )
    # Opening succeeds once the child has opened the other end; there it waits for data.
    writer = None
    while writer is None and child.poll() is None:
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
    assert writer is not None
    # A signal just before the read does not end it, and ThreadSanitizer makes that moment long.
    for _ in range(5):
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            _, stderr = child.communicate(timeout=TIMEOUT / 5)
            break
    else:
        child.kill()
        pytest.fail("no signal ended the command")
    os.close(writer)
    assert child.returncode == 130
    assert "Traceback" not in stderr


def test_traceback_on_request(command, tmp_path):
    data, indices = tmp_path / "data.npy", tmp_path / "indices.npy"
    np.save(data, np.arange(3))
    np.save(indices, [7])
    result = command("--traceback", "op", "gather", data, indices)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert result.stderr.splitlines()[-1].startswith("sowreap: error: gather: indices[0] = 7")


def test_module_and_script_are_the_same_command():
    result = sowreap_process("--version")
    assert (result.returncode, result.stdout) == (0, f"sowreap {sowreap.__version__}\n")
    (script,) = metadata.entry_points(group="console_scripts", name="sowreap")
    assert script.load() is __main__.main


def test_status_of_a_process(tmp_path):
    result = sowreap_process("run", tmp_path / "absent.onnx")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == f"sowreap: error: {tmp_path / 'absent.onnx'}: no such file\n"


@pytest.mark.parametrize(("argument", "status"), [("--version", 0), ("sow", 2)])
def test_main_leaves_with_the_status(monkeypatch, argument, status):
    monkeypatch.setattr(sys, "argv", ["sowreap", argument])
    with pytest.raises(SystemExit) as leaving:
        __main__.main()
    assert leaving.value.code == status


@pytest.mark.parametrize("module", ["click", "rich"])
def test_base_install_says_what_to_install(module):
    result = without(module, "info")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"sowreap: error: the command needs {module}, which is not installed; "
        'run: pip install "sowreap[onnx]"\n'
    )


def test_running_a_model_without_onnx(scatter_model):
    result = without("onnx", "run", scatter_model)
    assert result.returncode == 2
    assert result.stderr.startswith("sowreap: error: ")
    assert result.stderr.endswith('pip install "sowreap[onnx]"\n')


def test_a_defect_in_an_import_is_not_taken_for_a_missing_extra():
    result = without("sowreap._cli.compare", "info")
    assert result.returncode == 1
    assert "ModuleNotFoundError" in result.stderr


def test_op_and_info_do_not_import_onnx():
    code = "import sys; import sowreap._cli.app; print([m for m in sys.modules if m == 'onnx'])"
    result = python("-c", code)
    assert result.stdout == "[]\n"


def test_every_operator_has_a_command():
    assert set(op.OPERATORS) == set(op.op.commands)


def test_info(command, monkeypatch):
    def version(package: str) -> str:
        if package != "onnx":
            raise metadata.PackageNotFoundError(package)
        return "1.2.3"

    monkeypatch.setattr(metadata, "version", version)
    result = command("info")
    assert result.exit_code == 0
    rows = {tuple(line.split()) for line in result.stdout.splitlines()}
    assert ("sowreap", sowreap.__version__) in rows
    assert ("NumPy", np.__version__) in rows
    assert ("instruction", "set", sowreap._core.isa()) in rows
    assert ("threads", str(sowreap.get_num_threads())) in rows
    assert ("onnx", "onnx", "1.2.3") in rows
    assert ("ort", "onnxruntime", "not", "installed") in rows
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_colours_and_progress_on_a_terminal(scatter_model, scatter_inputs):
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    with subprocess.Popen(
        [*SOWREAP, "run", scatter_model, "--inputs", scatter_inputs, "--repeat", "3"],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env=environment,
    ) as child:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert child.returncode == 0
    assert b"\x1b[1mInputs" in shown
    assert b"3/3" in shown


def _read(terminal: int) -> bytes:
    """Read what is there; Linux reports the end of a pseudo-terminal as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_plain_text_into_a_pipe(scatter_model, scatter_inputs):
    result = sowreap_process(
        "run", scatter_model, "--inputs", scatter_inputs, env={**os.environ, "COLUMNS": "80"}
    )
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of another kind")
def test_a_reader_that_leaves_is_no_difference():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*SOWREAP, "info"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_text_that_the_terminal_cannot_show_is_escaped(tmp_path):
    np.save(tmp_path / "data.npy", np.array(["é", "b"]))
    np.save(tmp_path / "indices.npy", np.array([0]))
    done = subprocess.run(
        [*SOWREAP, "op", "gather", tmp_path / "data.npy", tmp_path / "indices.npy"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert r"\xe9" in done.stdout


def test_an_npz_of_a_compression_that_zip_readers_lack_is_one_line(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.arange(3))
    content = bytearray((tmp_path / "data.npz").read_bytes())
    # The method of compression: in the header of the member, and in the directory at the end.
    content[8:10] = b"\x63\x00"
    directory = content.index(b"PK\x01\x02")
    content[directory + 10 : directory + 12] = b"\x63\x00"
    (tmp_path / "data.npz").write_bytes(content)
    with pytest.raises(InputError, match="array x cannot be read"):
        files.read_any(tmp_path / "data.npz")
