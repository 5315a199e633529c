import pytest

from roman import from_roman, to_roman


@pytest.mark.parametrize("number, text", [(1, "I"), (4, "IV"), (9, "IX"), (1987, "MCMLXXXVII")])
def test_to_roman(number, text):
    assert to_roman(number) == text


@pytest.mark.parametrize("number", range(1, 4000, 37))
def test_there_and_back(number):
    assert from_roman(to_roman(number)) == number


def test_refused():
    with pytest.raises(ValueError):
        to_roman(4000)
