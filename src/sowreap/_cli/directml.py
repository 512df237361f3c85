"""``sowreap directml``: the structs of DirectML's gather and scatter family."""

from __future__ import annotations

from pathlib import Path

import click

from sowreap import directml as dml
from sowreap._cli import show as printing
from sowreap.directml._languages import LANGUAGES
from sowreap.directml._pages import FORMATS
from sowreap.directml.declare import COMMENT_LANGUAGES
from sowreap.directml.layout import ARCHITECTURES

_name = click.argument("name")
_output = click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of printing.",
)


@click.group()
def directml() -> None:
    """Lay out, declare and explain DirectML's gather and scatter structs.

    NAME is a struct (DML_SCATTER_OPERATOR_DESC) or an operator, which stands for its description
    (SCATTER); show and declare take enums too (DML_TENSOR_DATA_TYPE).
    """


@directml.command("list")
def list_names() -> None:
    """Print the names of structs, enums and languages."""
    out = printing.console()
    structs = (
        (name, *(str(dml.layout(name, arch).size) for arch in ARCHITECTURES))
        for name in dml.schema.STRUCTS
    )
    enums = ((name, str(len(members))) for name, members in dml.schema.ENUMS.items())
    languages = ((key, language.title) for key, language in LANGUAGES.items())
    printing.table(out, "Structs", ("name", *ARCHITECTURES), structs, numeric="x64 x86")
    printing.table(out, "Enums", ("name", "members"), enums, numeric="members")
    printing.table(out, "Languages", ("--language", "title"), languages, numeric="")


@directml.command()
@_name
@click.option("--arch", help=f"{' or '.join(ARCHITECTURES)}; both if not given.")
def layout(name: str, arch: str | None) -> None:
    """Print size, alignment and the offset of every field of a struct."""
    out = printing.console()
    for wanted in ARCHITECTURES if arch is None else (arch,):
        place = dml.layout(name, wanted)
        printing.table(
            out,
            f"{place.name}, {place.arch}: {place.size} bytes, aligned to {place.alignment}",
            ("field", "offset", "size", "padding"),
            (
                (field.name, str(field.offset), str(field.size), str(field.padding))
                for field in place.fields
            ),
            numeric="offset size padding",
        )


@directml.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--language", "-l", required=True, help=", ".join(LANGUAGES))
@click.option("--arch", help=f"Sizes and offsets of {' or '.join(ARCHITECTURES)} alone.")
@click.option("--all", "everything", is_flag=True, help="Declare what they need, too.")
@click.option(
    "--comments", default="en", help=f"{' or '.join(COMMENT_LANGUAGES)}; language of them."
)
@_output
def declare(
    names: tuple[str, ...],
    language: str,
    arch: str | None,
    everything: bool,
    comments: str,
    output: Path | None,
) -> None:
    """Print the declarations of structs in a programming language."""
    _write(dml.declare(names, language, arch, all=everything, comments=comments), output)


@directml.command()
@_name
@click.option("--format", "form", default="text", help=", ".join(FORMATS))
@click.option("--language", "-l", default="en", help=" or ".join(COMMENT_LANGUAGES))
@click.option("--declarations", is_flag=True, help="Add the declaration in every language.")
@_output
def show(name: str, form: str, language: str, declarations: bool, output: Path | None) -> None:
    """Print the reference page of a struct: fields, layouts, meaning, support, notes for HSP."""
    _write(dml.show(name, form, language, declarations=declarations), output)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
