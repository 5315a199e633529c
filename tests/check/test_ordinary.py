"""Ordinary programs have no finding under `default`: a check that cries wolf is switched off."""
import os

import pytest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ordinary")
LANGUAGES = {".py": "python", ".js": "node", ".mjs": "node", ".ts": "node", ".tsx": "node", ".sh": "bash"}


@pytest.mark.parametrize("name", sorted(os.listdir(FOLDER)))
def test_has_no_finding(checker, name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        source = file.read()
    assert checker.findings(source, LANGUAGES[os.path.splitext(name)[1]], name, sets=["default"]) == []
