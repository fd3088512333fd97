from roman import to_roman


def test_years():
    assert to_roman(1987) == "MCMLXXXVII"
