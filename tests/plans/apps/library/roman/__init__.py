"""Roman numerals."""

SIGNS = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90}
SIGNS |= {"L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}


def to_roman(number: int) -> str:
    text = ""
    for sign, value in SIGNS.items():
        count, number = divmod(number, value)
        text += sign * count
    return text
