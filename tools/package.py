"""Builds what is published, and tries it as a user would: from the wheels, in clean environments.

    python -m tools.package [--quick]

`dist/` gets a wheel and a source archive of each package, `build/release` the software bill of
materials and the hashes. The files are looked at (twine, check-wheel-contents, validate-pyproject),
and so are those for other people's CI (check-jsonschema, zizmor, shellcheck). Then the wheels are
installed: the suite alone with the oldest and the newest pytest, and with each extra, where a
healthy server must pass and a broken one must fail; and the authenticator alone. Every other Python
that is promised and is on this machine (on PATH, or in pyenv) tries the wheel, too. Where no
package registry can be reached, a line says what was not tried; only CI stops for that. `--quick`:
no environments.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools import authenticator_package, sbom

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
RELEASE = ROOT / "build" / "release"
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install")
SECONDS = 600
OLDEST_PYTEST = "pytest==8.4.*"
HEAVY = ("mcp", "xdist", "playwright", "sqlalchemy", "webauthn", "uvicorn", "hypothesis")
"""What a base installation must not bring."""
DESK = "python:tests.families.prepare_confirm.small_desk"
SERVERS = ("tests/families/least_server.py", "tests/families/prepare_confirm/small_desk.py")
SETTINGS = """\
effects = "tool:list_done"
family = "prepare_confirm"
select = ["prepare_confirm/one-time", "prepare_confirm/preview"]
[tool]
prepare_delete_orders = { ids = ["o-1", "o-2"] }
[prepare_confirm.pairs.delete_orders]
restore = { tool = "create_orders", arguments = { ids = ["o-1", "o-2"] } }
"""
IN_THE_WHEEL = (
    "pytest_mcp_approval/command/main.py",
    "pytest_mcp_approval/config/settings.schema.json",
    "pytest_mcp_approval/report/page.html",
    "pytest_mcp_approval/report/schema.json",
    "pytest_mcp_approval/py.typed",
    "pytest_mcp_approval/scenarios/sep2672/requirements.toml",
    "pytest_mcp_approval/scenarios/sep2672/known_defects.json",
    "virtual_authenticator/py.typed",
)


class PackageError(Exception):
    """One line, and what a command said."""


@dataclass(frozen=True)
class Environment:
    """One way to install the wheel."""

    name: str
    extra: str = ""
    beside: tuple[str, ...] = ()
    reference: bool = False
    """Whether the reference server can be run there."""
    python: str = sys.executable


ENVIRONMENTS = (
    Environment("base, oldest pytest", beside=(OLDEST_PYTEST,)),
    Environment("base, newest pytest"),
    Environment("base with xdist", beside=("pytest-xdist",)),
    Environment("reference, oldest pytest", "[reference]", (OLDEST_PYTEST,), reference=True),
    Environment("browser", "[browser]"),
    Environment("all", "[all]", reference=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="without the clean environments")
    quick = parser.parse_args().quick
    try:
        shutil.rmtree(DIST, ignore_errors=True)
        wheel = build()
        look_into(wheel)
        small = build_authenticator()
        check_with_tools(wheel, small)
        write_release_files()
        for one in () if quick else (*ENVIRONMENTS, *on_other_pythons()):
            say(f"trying the wheel: {one.name}")
            try_in(one, wheel)
        if not quick:
            say("trying the wheel: virtual-authenticator alone")
            try_authenticator(small)
    except PackageError as error:
        print(f"package: {error}", file=sys.stderr)
        return 1
    say(f"{wheel.name} and {small.name} are in order")
    return 0


def say(line: str) -> None:
    print(f"package: {line}", flush=True)


def on_other_pythons() -> Iterator[Environment]:
    """Each other Python that we promise: the oldest pytest alone, and the newest with the reference
    server."""
    for version in promised_pythons():
        python = find_python(version)
        if version == f"{sys.version_info.major}.{sys.version_info.minor}":
            continue
        if python is None:
            say(f"left out: there is no Python {version} on this machine")
            continue
        oldest = (OLDEST_PYTEST,)
        yield Environment(f"Python {version}, base, oldest pytest", "", oldest, python=python)
        name = f"Python {version}, reference, newest pytest"
        yield Environment(name, "[reference]", reference=True, python=python)


def promised_pythons() -> list[str]:
    """By the classifiers of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lead = "Programming Language :: Python :: 3."
    return [f"3.{one.removeprefix(lead)}" for one in project["classifiers"] if one.startswith(lead)]


def find_python(version: str) -> str | None:
    """A Python of this version that can make environments."""
    own = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python{version}"), *map(str, own.glob(f"{version}.*/bin/python"))]
    for one in filter(None, found):
        # A shim of pyenv is there for versions that are not chosen, too, and fails.
        if start((one, "-c", "import ensurepip, venv")).returncode == 0:
            return one
    return None


# ---- the files


def build() -> Path:
    """The wheel. It is made from the source archive, so that the archive is known to be whole."""
    say("building the source archive, and the wheel from it")
    return _wheel_by_archive(ROOT, "pytest_mcp_approval")


def _wheel_by_archive(project: Path, name: str) -> Path:
    hatchling = (sys.executable, "-m", "hatchling", "build", "--directory")
    run(*hatchling, str(DIST), "--target", "sdist", cwd=project)
    (archive,) = DIST.glob(f"{name}-*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        run(*hatchling, str(DIST), "--target", "wheel", cwd=source)
    (wheel,) = DIST.glob(f"{name}-*.whl")
    return wheel


def build_authenticator() -> Path:
    """The wheel of the authenticator, by way of its source archive, too."""
    say("building virtual-authenticator from the same tree")
    with tempfile.TemporaryDirectory() as name:
        authenticator_package.stage(ROOT, Path(name))
        wheel = _wheel_by_archive(Path(name), "virtual_authenticator")
    problem = authenticator_package.look_into(wheel)
    if problem:
        raise PackageError(f"{wheel.name}: {problem}")
    return wheel


def write_release_files() -> None:
    """What goes with a release: what the package is made of, and the hashes of its files."""
    RELEASE.mkdir(parents=True, exist_ok=True)
    count = sbom.write(RELEASE / "sbom.cdx.json")
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in sorted(DIST.iterdir())
    ]
    (RELEASE / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")
    place = RELEASE.relative_to(ROOT)
    say(f"wrote {place}/sbom.cdx.json ({count} components) and {place}/SHA256SUMS")


def look_into(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in IN_THE_WHEEL if name not in names]
    if missing:
        raise PackageError(f"the wheel lacks {', '.join(missing)}")
    scenarios = {path.relative_to(ROOT).as_posix() for path in (ROOT / "scenarios").rglob("*.*")}
    lost = [one for one in scenarios if "__pycache__" not in one and not _is_in(names, one)]
    if lost:
        raise PackageError(f"the wheel lacks {', '.join(sorted(lost))}")
    stray = {name.partition("/")[0] for name in names} - {
        *("pytest_mcp_approval", "virtual_authenticator"),
        next(name.partition("/")[0] for name in names if ".dist-info/" in name),
    }
    if stray:
        raise PackageError(f"the wheel has {', '.join(sorted(stray))}")


def _is_in(names: Sequence[str], scenario: str) -> bool:
    return f"pytest_mcp_approval/{scenario}" in names


def check_with_tools(wheel: Path, small: Path) -> None:
    programs = tools_of("package", say)
    if programs is None:
        return
    say("checking the package with twine, check-wheel-contents and validate-pyproject")
    run(str(programs / "twine"), "check", "--strict", *map(str, DIST.iterdir()))
    # W009: two packages on purpose; the second is of use without the first.
    run(str(programs / "check-wheel-contents"), "--ignore", "W009", str(wheel))
    run(str(programs / "check-wheel-contents"), str(small))
    run(str(programs / "validate-pyproject"), str(ROOT / "pyproject.toml"))
    say("checking the CI files with check-jsonschema, zizmor and shellcheck")
    for kind, pattern in (
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-actions", "action.yml"),
        ("dependabot", ".github/dependabot.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("gitlab-ci", "templates/gitlab.yml"),
    ):
        files = sorted(map(str, ROOT.glob(pattern)))
        if files:
            run(str(programs / "check-jsonschema"), "--builtin-schema", f"vendor.{kind}", *files)
    run(str(programs / "zizmor"), "--offline", "--quiet", ".github", "action.yml", cwd=ROOT)
    scripts = [*ROOT.glob("tools/**/*.sh"), ROOT / ".ci" / "run"]
    run(str(programs / "shellcheck"), *map(str, scripts))


def tools_of(name: str, tell: Callable[[str], None]) -> Path | None:
    """Where the tools of requirements/<name>.txt are, installed once for that list into an
    environment of their own; None if they cannot be had."""
    listed = ROOT / "requirements" / f"{name}.txt"
    folder = ROOT / ".cache" / f"{name}-tools"
    done = folder / "installed.txt"
    if not done.exists() or done.read_bytes() != listed.read_bytes():
        tell(f"installing the tools of {listed.relative_to(ROOT)}")
        python = make_environment(folder)
        if not can_install(python, "--require-hashes", "--requirement", str(listed), tell=tell):
            return None
        done.write_bytes(listed.read_bytes())
    return folder / "bin"


# ---- the wheel in use


def try_in(one: Environment, wheel: Path) -> None:
    with _stranger() as folder:
        python = make_environment(folder / "environment", one.python)
        if not can_install(python, f"{wheel}{one.extra}", *one.beside):
            return
        command = str(python.parent / "mcp-approval")
        work = folder / "work"
        run(command, "--version", cwd=work)
        run(command, "explain", "sep2672/4.8-11-counter", cwd=work)
        run(command, "lint", cwd=work)
        if not one.extra and "xdist" not in one.name:
            _check_light(python, work)
        workers = ("-n", "2") if "xdist" in one.name else ()
        _judge((command, "check", *workers), "", work)
        pytest = (str(python.parent / "pytest"), "-p", "no:cacheprovider")
        _judge(pytest, "--mcp-approval-target=", work)
        run(*pytest, f"--mcp-approval-target={DESK}:deletes", "test_own.py", cwd=work)
        if one.reference:
            select = ("--family", "sep2672", "--select", "sep2672/4.2*", "--browser", "none")
            run(command, "check", "reference", *select, cwd=folder / "empty")


def _judge(command: Sequence[str], option: str, work: Path) -> None:
    """The healthy server passes, and the broken one fails for its defect."""
    run(*command, f"{option}{DESK}:deletes", cwd=work)
    said = run(*command, f"{option}{DESK}:takes_twice", cwd=work, code=1)
    if "FAIL  prepare_confirm/one-time" not in said:
        raise PackageError(f"{command[0]} does not find the defect of a broken server:\n{said}")


def _check_light(python: Path, work: Path) -> None:
    script = f"from importlib.util import find_spec; print(*filter(find_spec, {HEAVY!r}))"
    brought = run(str(python), "-c", script, cwd=work).split()
    if brought:
        raise PackageError(f"a base installation brings {', '.join(brought)}")


@contextmanager
def _stranger() -> Iterator[Path]:
    """A folder with two small servers that are not ours, and somebody's own test."""
    with tempfile.TemporaryDirectory(prefix="mcp-approval-package-") as name:
        folder = Path(name)
        work = folder / "work"
        (folder / "empty").mkdir()
        for server in SERVERS:
            (work / server).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / server, work / server)
        (work / "mcp-approval.toml").write_text(SETTINGS)
        (work / "test_own.py").write_text(
            "def test_own(approval_two_step):\n    assert approval_two_step.pairs()\n"
        )
        yield folder


def try_authenticator(wheel: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="mcp-approval-package-") as name:
        python = make_environment(Path(name) / "environment")
        if can_install(python, str(wheel)):
            authenticator_package.try_alone(python, run, Path(name))


# ---- environments and commands


def make_environment(folder: Path, python: str = sys.executable) -> Path:
    """A fresh environment with pip; its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", str(folder))
    return folder / "bin" / "python"


def can_install(python: Path, *words: str, tell: Callable[[str], None] = say) -> bool:
    """Whether pip could; where no registry is reached, that is told, and is an error in CI only."""
    done = start((str(python), *PIP, *words))
    if not done.returncode:
        return True
    said = done.stdout.strip().splitlines()[-3:]
    missing = any("No matching distribution" in line for line in said)
    reached = not any(word in done.stdout for word in ("Retrying", "Connection", "resolve"))
    if (missing and reached) or os.environ.get("CI"):
        raise PackageError("pip cannot install " + " ".join(words) + ":\n" + "\n".join(said))
    tell("left out: no package registry can be reached from here")
    return False


def run(*command: str, cwd: Path | None = None, code: int = 0) -> str:
    """What a command said; `PackageError` if it ended otherwise."""
    done = start(command, cwd)
    if done.returncode != code:
        words = " ".join(command)
        raise PackageError(f"{words}: ended with {done.returncode}, not {code}:\n{done.stdout}")
    return done.stdout


def start(command: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    own = ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS", "GITHUB_STEP_SUMMARY")
    return subprocess.run(
        command,
        cwd=cwd,
        env={name: one for name, one in os.environ.items() if name not in own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
