"""Roman numerals, with a mistake that its tests find."""
SIGNS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
         (9, "IX"), (5, "V"), (1, "I")]


def to_roman(number):
    if not 0 < number < 4000:
        raise ValueError("no Roman numeral for %d" % number)
    text = ""
    for value, sign in SIGNS:
        while number >= value:
            text += sign
            number -= value
    return text


def from_roman(text):
    values = dict((sign, value) for value, sign in SIGNS)
    total = 0
    for here, after in zip(text, text[1:] + " "):
        total += -values[here] if values.get(after, 0) > values[here] else values[here]
    return total
