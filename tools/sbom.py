"""Write what a wheel contains of others: a CycloneDX file, and the licences of it.

    python tools/sbom.py build/third-party --version 0.1.0 [--static-libstdcxx 12.2.0]

The build calls this with the Python that it builds for, and puts ``sboms`` and ``licenses`` of the
folder into the wheel's ``.dist-info`` (PEP 770, PEP 639). Facts come from the packages that are
compiled in: their versions, the texts of their licences, the digests of headers that have no
version. The file has no time and no random number: two builds of the same parts write the same.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import shutil
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

import nanobind

Component = dict[str, Any]

GCC_LICENSE = "GPL-3.0-or-later WITH GCC-exception-3.1"
ROBIN_MAP = Path(nanobind.__file__).parent / "ext" / "robin_map" / "include" / "tsl"


def library(
    name: str, version: str | None, license_: str, source: str, description: str, **more: Any
) -> Component:
    """Return a component of CycloneDX."""
    made: Component = {"type": "library", "bom-ref": name, "name": name}
    if version is not None:
        made["version"] = version
    made["description"] = description
    kind = "expression" if " " in license_ else "id"
    made["licenses"] = [
        {"expression": license_} if kind == "expression" else {"license": {"id": license_}}
    ]
    if version is not None and source.startswith("pkg:pypi/"):
        source = f"{source}@{version}"
    return {**made, "purl": source, **more}


def robin_map() -> Component:
    """Return the hash map in nanobind, whose headers name no version."""
    headers = [
        {
            "type": "file",
            "bom-ref": f"robin-map/{path.name}",
            "name": f"tsl/{path.name}",
            "hashes": [
                {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
            ],
        }
        for path in sorted(ROBIN_MAP.glob("*.h"))
    ]
    return library(
        "robin-map",
        None,
        "MIT",
        "pkg:github/Tessil/robin-map",
        "Hash map, as nanobind bundles it; compiled in",
        components=headers,
    )


def components(static_libstdcxx: str | None) -> list[Component]:
    """Return what is compiled or linked into the binaries."""
    found = [
        library(
            "nanobind",
            metadata.version("nanobind"),
            "BSD-3-Clause",
            "pkg:pypi/nanobind",
            "Bindings of C++ to Python; linked statically",
        ),
        robin_map(),
        library(
            "numpy",
            metadata.version("numpy"),
            "BSD-3-Clause",
            "pkg:pypi/numpy",
            "Headers of NumPy's C interface, whose inline functions are compiled in",
        ),
    ]
    if static_libstdcxx:
        found.append(
            library(
                "libstdc++",
                static_libstdcxx,
                GCC_LICENSE,
                "pkg:generic/gcc",
                "C++ library of GCC with libgcc; linked statically",
            )
        )
    return found


def document(version: str, static_libstdcxx: str | None) -> dict[str, Any]:
    """Return the whole file."""
    parts = components(static_libstdcxx)
    root = f"sowreap@{version}"
    relations = [
        {
            "ref": root,
            "dependsOn": [part["bom-ref"] for part in parts if part["name"] != "robin-map"],
        },
        {"ref": "nanobind", "dependsOn": ["robin-map"]},
    ]
    made: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": "sowreap",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": f"pkg:pypi/{root}",
            }
        },
        "components": parts,
        "dependencies": relations,
    }
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    made["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}"
    return made


def license_of(package: str, names: tuple[str, ...]) -> Path:
    """Return the licence that a package was installed with."""
    for file in metadata.files(package) or []:
        if file.name in names and file.parent.name in ("licenses", file.parent.parts[0]):
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{package} was installed without its licence")


def own_terms(text: str) -> str:
    """Return NumPy's own licence; after a rule follow those of what its binaries bundle."""
    lines = itertools.takewhile(lambda line: not line.startswith("---"), text.splitlines())
    return "\n".join(lines).strip() + "\n"


def comment_at_top(header: Path) -> str:
    """Return the first comment of a header, as text."""
    body = header.read_text().split("/**", 1)[1].split("*/", 1)[0]
    lines = [line.strip().removeprefix("*").removeprefix(" ") for line in body.splitlines()]
    return "\n".join(lines).strip() + "\n"


def write_licenses(folder: Path) -> None:
    """Write the licences of what is compiled in."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(license_of("nanobind", ("LICENSE",)), folder / "nanobind.txt")
    numpy = license_of("numpy", ("LICENSE.txt",)).read_text()
    (folder / "numpy.txt").write_text(own_terms(numpy))
    (folder / "robin-map.txt").write_text(comment_at_top(ROBIN_MAP / "robin_map.h"))


def main() -> None:
    """Write into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Write the bill of materials of a wheel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", required=True, help="of sowreap")
    parser.add_argument("--static-libstdcxx", help="the compiler's version, where it is linked so")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    write_licenses(options.folder / "licenses" / "third_party")
    sboms = options.folder / "sboms"
    sboms.mkdir()
    text = json.dumps(document(options.version, options.static_libstdcxx), indent=2)
    (sboms / "sowreap.cdx.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
