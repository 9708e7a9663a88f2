"""Virtual environments with pinned packages from PyPI, which the checks of clients use."""

import shutil
import subprocess
import sys
from pathlib import Path

from .processes import say


def need(directory, requirements, *flags):
    """Creates an environment with a file's packages unless it already exists; returns the directory of its programs."""
    directory, wanted = Path(directory), Path(requirements).read_text()
    installed = directory / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted:
        say(f"Installing the packages of {requirements} from PyPI into {directory}")
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        subprocess.run([directory / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *flags,
                        "--requirement", requirements], check=True)
        installed.write_text(wanted)
    return directory / "bin"
