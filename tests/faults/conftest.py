"""Faults: each stage removed, each optional system call missing, each allocation failing."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "claims"))

BUILD = os.environ.get("SNAPCELL_BUILD", os.path.join(HERE, "..", "..", "build"))


@pytest.fixture(scope="session")
def probes(tmp_path_factory):
    import cell
    return cell.Probes(tmp_path_factory.mktemp("probes"))


@pytest.fixture(scope="session")
def mutant():
    """The test build whose stages can be left out."""
    path = os.path.join(BUILD, "src", "snapcell-mutant")
    assert os.path.exists(path), "no %s: build it with ninja" % path
    return path
