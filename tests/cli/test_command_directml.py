"""``sowreap directml``: what the functions return, printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command_line import error_line

from sowreap import directml

Command = Callable[..., Result]


def test_list(command: Command) -> None:
    result = command("directml", "list")
    assert result.exit_code == 0
    words = result.stdout.split()
    assert {*directml.schema.STRUCTS, *directml.schema.ENUMS} <= set(words)
    at = words.index("DML_SCATTER_ND_OPERATOR_DESC")
    assert words[at + 1 : at + 3] == ["40", "24"]
    assert "ironhsp" in words


@pytest.mark.parametrize("archs", [("x64",), ("x86",), ()])
def test_layout(command: Command, archs: tuple[str, ...]) -> None:
    options = [word for arch in archs for word in ("--arch", arch)]
    result = command("directml", "layout", "DML_BUFFER_TENSOR_DESC", *options)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    for arch in archs or ("x64", "x86"):
        place = directml.layout("DML_BUFFER_TENSOR_DESC", arch)
        assert [f"{place.name},", f"{arch}:", str(place.size)] in [row[:3] for row in rows]
        for field in place.fields:
            numbers = map(str, (field.offset, field.size, field.padding))
            assert [field.name, *numbers] in rows
    if archs:
        assert len([row for row in rows if row[:1] == ["Sizes"]]) == 1


def test_declare(command: Command) -> None:
    result = command("directml", "declare", "SCATTER", "--language", "rust")
    assert result.exit_code == 0
    assert result.stdout == directml.declare("SCATTER", "rust")


def test_declare_with_all_options(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "directml.go"
    names = ("DML_OPERATOR_DESC", "DML_BINDING_DESC")
    options = ("-l", "go", "--arch", "x86", "--all", "--comments", "ja", "-o", path)
    result = command("directml", "declare", *names, *options)
    assert (result.exit_code, result.stdout) == (0, "")
    assert path.read_text(encoding="utf-8") == directml.declare(
        names, "go", "x86", all=True, comments="ja"
    )


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_show(command: Command, form: str, language: str) -> None:
    result = command("directml", "show", "SCATTER", "--format", form, "--language", language)
    assert result.exit_code == 0
    assert result.stdout == directml.show("SCATTER", form, language)


def test_show_with_declarations_in_a_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "gather.html"
    options = ("--format", "html", "--declarations", "--output", path)
    assert command("directml", "show", "GATHER", *options).exit_code == 0
    assert path.read_text(encoding="utf-8") == directml.show("GATHER", "html", declarations=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("layout", "JOIN"), "name 'JOIN' is not known"),
        (("layout", "GATHER", "--arch", "arm"), "it is one of x64, x86"),
        (("declare", "GATHER", "-l", "cobol"), "it is one of c, csharp"),
        (("declare", "GATHER"), "Missing option '--language'"),
        (("show", "GATHER", "--format", "pdf"), "it is one of text, markdown, html"),
        (("show", "GATHER", "-o", "missing/page.txt"), "missing/page.txt: No such file"),
    ],
)
def test_errors_are_one_line(command: Command, arguments: tuple[str, ...], message: str) -> None:
    assert message in error_line(command("directml", *arguments))
