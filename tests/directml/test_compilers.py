"""Each declaration, compiled by its own compiler, has the layout of Windows.

The compilers print sizes and offsets; those for Windows on x86, whose programs do not run here, put
them in a section of the object file, or check them while compiling. VB.NET runs where Mono's vbnc
is installed, which Debian no longer has. HSP and IronHSP have no compiler here: test_declare.py
compares their text with the facts of published examples.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from directml_facts import LAYOUTS

from sowreap.directml import declare, schema

TIMEOUT = 300  # seconds; only a hang takes as long
Run = Callable[..., str]

needs_64_bits = pytest.mark.skipif(
    ctypes.sizeof(ctypes.c_void_p) != 8, reason="programs of this host have pointers of 32 bits"
)

WINDOWS_H = """\
#include <stdint.h>
typedef uint32_t DWORD;
typedef uint64_t ULONGLONG;
typedef int32_t BOOL;
"""


def everything(language: str, arch: str | None = None) -> str:
    """Return the declarations of the whole family."""
    return declare([*schema.STRUCTS, *schema.ENUMS], language, arch, all=True)


def wanted(arch: str) -> dict[str, int]:
    """Return what a program of ours has to print: sizes by struct, offsets by struct.field."""
    column = ("x64", "x86").index(arch)
    values = {}
    for name, (*sizes, _, _, fields) in LAYOUTS.items():
        values[name] = sizes[column]
        for field, places in fields.items():
            values[f"{name}.{field}"] = places[column]
    return values


def printed(text: str) -> dict[str, int]:
    """Return the numbers of a program's output, lines of a name and a number."""
    pairs = re.findall(r"^([\w.]+) (\d+)\s*$", text, re.MULTILINE)
    assert len(pairs) == len(text.splitlines())
    return {name: int(value) for name, value in pairs}


def lines(size: str, offset: str, names: Callable[[str], str] = str) -> str:
    """Return the lines of a program, one for each size and offset, from two templates.

    Templates know ``{key}``, ``{name}`` and ``{field}``; `names` spells the fields.
    """
    text = []
    for key in wanted("x64"):
        name, _, field = key.partition(".")
        template = offset if field else size
        text.append(template.format(key=key, name=name, field=names(field)))
    return "\n".join(text)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in an empty folder and return what it prints."""

    def call(*command: object, **environment: str) -> str:
        done = subprocess.run(
            list(map(str, command)),
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    return call


def compiler(*names: str) -> str:
    """Return the first of some compilers that is installed; skip the test without any."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    pytest.skip(f"no {' or '.join(names)} is installed")


def c_object_facts(run: Run, tools: str, folder: Path) -> dict[str, int]:
    """Compile C to an object file, and read sizes and offsets out of a section of it."""
    gcc, objcopy = compiler(f"{tools}gcc"), compiler(f"{tools}objcopy")
    numbers = lines("    sizeof({name}),", "    offsetof({name}, {field}),")
    (folder / "facts.c").write_text(
        f"{everything('c')}\n#include <stddef.h>\n"
        f'__attribute__((section(".facts"))) const unsigned facts[] = {{\n{numbers}\n}};\n'
    )
    run(gcc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.", "-c", "facts.c", "-o", "facts.o")
    run(objcopy, "-O", "binary", "-j", ".facts", "facts.o", "facts.bin")
    keys = list(wanted("x64"))
    raw = (folder / "facts.bin").read_bytes()[: 4 * len(keys)]
    return dict(zip(keys, struct.unpack(f"<{len(keys)}I", raw), strict=True))


@pytest.mark.parametrize(
    ("tools", "arch"), [("x86_64-w64-mingw32-", "x64"), ("i686-w64-mingw32-", "x86")]
)
def test_c_for_windows(run: Run, tmp_path: Path, tools: str, arch: str) -> None:
    """With the real ``windows.h``."""
    assert c_object_facts(run, tools, tmp_path) == wanted(arch)


@pytest.mark.parametrize(("name", "standard"), [("gcc", "c11"), ("g++", "c++17")])
@needs_64_bits
def test_c_on_this_host(run: Run, tmp_path: Path, name: str, standard: str) -> None:
    """Without ``windows.h``, of which three types are needed."""
    kind = {"gcc": "c", "g++": "c++"}[name]
    gcc = compiler(name)
    (tmp_path / "windows.h").write_text(WINDOWS_H)
    prints = lines(
        '    printf("{key} %u\\n", (unsigned) sizeof({name}));',
        '    printf("{key} %u\\n", (unsigned) offsetof({name}, {field}));',
    )
    (tmp_path / "main.c").write_text(
        f"{everything('c')}\n#include <stddef.h>\n#include <stdio.h>\n"
        f"int main(void) {{\n{prints}\n    return 0;\n}}\n"
    )
    warnings = ("-Wall", "-Wextra", "-Werror")
    run(gcc, "-x", kind, f"-std={standard}", *warnings, "-I.", "main.c", "-o", "main")
    assert printed(run("./main")) == wanted("x64")


@needs_64_bits
def test_rust(run: Run, tmp_path: Path) -> None:
    rustc = compiler("rustc")
    prints = lines(
        '    println!("{key} {{}}", size_of::<{name}>());',
        '    println!("{key} {{}}", {{ let base = MaybeUninit::<{name}>::uninit();'
        " unsafe {{ std::ptr::addr_of!((*base.as_ptr()).{field}) as usize"
        " - base.as_ptr() as usize }} }});",
    )
    (tmp_path / "main.rs").write_text(
        f"#![deny(warnings)]\n#![allow(dead_code)]\nuse std::mem::{{size_of, MaybeUninit}};\n"
        f"{everything('rust')}\nfn main() {{\n{prints}\n}}\n"
    )
    run(rustc, "--edition=2021", "main.rs", "-o", "main")
    assert printed(run("./main")) == wanted("x64")


@pytest.mark.parametrize("goarch", ["amd64", "386"])
@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="runs programs for amd64 and 386, as Linux on x86-64 does",
)
def test_go(run: Run, tmp_path: Path, goarch: str, pinned: bool) -> None:
    """Under GOARCH=386 Go aligns 64-bit integers to 4, so the padding has to be written out."""
    go, arch = compiler("go"), {"amd64": "x64", "386": "x86"}[goarch]
    (tmp_path / "go.mod").write_text("module probe\n\ngo 1.18\n")
    (tmp_path / "directml").mkdir()
    source = tmp_path / "directml" / "directml.go"
    source.write_text(everything("go", arch if pinned else None))
    prints = lines(
        '\tprintln("{key}", unsafe.Sizeof(directml.{name}{{}}))',
        '\tprintln("{key}", unsafe.Offsetof(directml.{name}{{}}.{field}))',
    )
    (tmp_path / "main.go").write_text(
        'package main\n\nimport (\n\t"probe/directml"\n\t"unsafe"\n)\n\n'
        f"func main() {{\n{prints}\n}}\n"
    )
    environment = {"GOARCH": goarch, "GOOS": "linux", "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    run(go, "vet", "./...", **environment)
    run(go, "build", "-o", "main", ".", **environment)
    assert printed(run("./main")) == wanted(arch)
    assert run(go, "fmt", "./directml") == ""


def zig_command() -> tuple[str, ...]:
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang")
    return (compiler("zig"),)


def zig_checks(arch: str) -> str:
    """Return a block that does not compile unless every number is the wanted one."""
    values = wanted(arch)
    checks = []
    for key, value in values.items():
        name, _, field = key.partition(".")
        number = f'@offsetOf({name}, "{field}")' if field else f"@sizeOf({name})"
        checks.append(f'    if ({number} != {value}) @compileError("{key}");')
    return "\n".join(["comptime {", *checks, "}"])


def zig_build(run: Run, source: Path, text: str, target: str) -> str:
    source.write_text(text)
    cache = source.parent / "cache"
    return run(
        *zig_command(),
        "build-obj",
        source.name,
        "-target",
        target,
        "-fno-emit-bin",
        ZIG_GLOBAL_CACHE_DIR=str(cache),
        ZIG_LOCAL_CACHE_DIR=str(cache),
    )


@pytest.mark.parametrize(
    ("target", "arch"),
    [("x86_64-windows-gnu", "x64"), ("x86-windows-gnu", "x86"), ("x86_64-linux-gnu", "x64")],
)
def test_zig(run: Run, tmp_path: Path, target: str, arch: str) -> None:
    zig_build(run, tmp_path / "facts.zig", f"{everything('zig')}\n{zig_checks(arch)}\n", target)


def test_zig_check_can_fail(run: Run, tmp_path: Path) -> None:
    """The numbers of the other word size are refused."""
    text = f"{everything('zig')}\n{zig_checks('x86')}\n"
    with pytest.raises(AssertionError, match="DML_OPERATOR_DESC"):
        zig_build(run, tmp_path / "facts.zig", text, "x86_64-windows-gnu")


@needs_64_bits
def test_free_pascal_in_delphi_mode(run: Run, tmp_path: Path) -> None:
    fpc = compiler("fpc")
    prints = lines(
        "  WriteLn('{key} ', SizeOf({name}));",
        "  WriteLn('{key} ', PtrUInt(@({name}(nil^).{field})));",
        names=lambda field: "&Type" if field == "Type" else field,
    )
    (tmp_path / "main.pas").write_text(
        f"program main;\n{everything('delphi')}\nbegin\n{prints}\nend.\n"
    )
    run(fpc, "-Mdelphi", "main.pas")
    assert printed(run("./main")) == wanted("x64")


@needs_64_bits
def test_d(run: Run, tmp_path: Path) -> None:
    d = compiler("gdc", "ldmd2", "dmd")
    prints = lines(
        '    printf("{key} %u\\n", cast(uint) {name}.sizeof);',
        '    printf("{key} %u\\n", cast(uint) {name}.{field}.offsetof);',
    )
    (tmp_path / "main.d").write_text(
        f"import core.stdc.stdio : printf;\n{everything('d')}\nvoid main()\n{{\n{prints}\n}}\n"
    )
    run(d, "main.d", *(["-o", "main"] if d.endswith("gdc") else ["-of=main"]))
    assert printed(run("./main")) == wanted("x64")


@needs_64_bits
def test_nim(run: Run, tmp_path: Path) -> None:
    nim = compiler("nim")
    (tmp_path / "directml.nim").write_text(everything("nim"))
    prints = lines('echo "{key} ", sizeof({name})', 'echo "{key} ", offsetof({name}, {field})')
    (tmp_path / "main.nim").write_text(f"import directml\n{prints}\n")
    run(nim, "c", "--hints:off", "--opt:none", f"--nimcache:{tmp_path / 'cache'}", "main.nim")
    assert printed(run("./main")) == wanted("x64")


@needs_64_bits
def test_csharp(run: Run, tmp_path: Path) -> None:
    mcs, mono = compiler("mcs"), compiler("mono")
    prints = lines(
        '        Console.WriteLine("{key} " + Marshal.SizeOf(typeof({name})));',
        '        Console.WriteLine("{key} " + Marshal.OffsetOf(typeof({name}), "{field}"));',
    )
    (tmp_path / "main.cs").write_text(
        f"{everything('csharp')}\nclass Program\n{{\n    static void Main()\n    {{\n{prints}\n"
        "    }\n}\n"
    )
    run(mcs, "-warnaserror+", "main.cs", "-out:main.exe")
    assert printed(run(mono, "main.exe")) == wanted("x64")


@needs_64_bits
def test_visual_basic(run: Run, tmp_path: Path) -> None:
    vbnc, mono = compiler("vbnc"), compiler("mono")
    prints = lines(
        '        Print("{key}", Marshal.SizeOf(GetType({name})))',
        '        Print("{key}", Marshal.OffsetOf(GetType({name}), "{field}").ToInt64())',
    )
    (tmp_path / "main.vb").write_text(
        f"{everything('vbnet')}\nModule Program\n"
        "    Sub Print(key As String, value As Long)\n"
        '        Console.WriteLine(key & " " & value)\n    End Sub\n'
        f"    Sub Main()\n{prints}\n    End Sub\nEnd Module\n"
    )
    run(vbnc, "main.vb", "-out:main.exe")
    assert printed(run(mono, "main.exe")) == wanted("x64")


@pytest.mark.parametrize("arch", ["x64", "x86", None])
def test_python(arch: str | None) -> None:
    """With pointers of a given width in any process; without, those of this process."""
    scope: dict[str, object] = {}
    exec(everything("python", arch), scope)
    native = "x64" if ctypes.sizeof(ctypes.c_void_p) == 8 else "x86"
    assert dict(ctypes_facts(scope)) == wanted(arch or native)


def ctypes_facts(scope: dict[str, object]) -> Iterator[tuple[str, int]]:
    for key in wanted("x64"):
        name, _, field = key.partition(".")
        kind = scope[name]
        assert isinstance(kind, type)
        assert issubclass(kind, ctypes.Structure)
        yield key, getattr(kind, field).offset if field else ctypes.sizeof(kind)
