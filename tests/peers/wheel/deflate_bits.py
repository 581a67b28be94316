"""Deflate streams made bit by bit (RFC 1951), for what no encoder writes: codes that a block uses and does not define.

UNDEFINED: name → (stream, what libdeflate inflates it to). zlib, which Python, pip and unzip follow, refuses each.
"""

END = 256
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
_PLAIN = {symbol: 4 for symbol in range(16)}  # code lengths, each in 4 bits, none repeated


class Bits:
    """Least significant first; prefix codes from their most significant bit on."""

    def __init__(self):
        self.value, self.count = 0, 0

    def put(self, value, count):
        self.value |= value << self.count
        self.count += count
        return self

    def code(self, codes, *symbols):
        for symbol in symbols:
            value, count = codes[symbol]
            for at in reversed(range(count)):
                self.put(value >> at & 1, 1)
        return self

    def bytes(self):
        return self.value.to_bytes((self.count + 7) // 8, "little")


def codes_of(lengths):
    """Symbol → (code, its bits), of symbol → bits (3.2.2)."""
    codes, code = {}, 0
    for bits in range(1, 16):
        for symbol in sorted(lengths):
            if lengths[symbol] == bits:
                codes[symbol] = (code, bits)
                code += 1
        code <<= 1
    return codes


FIXED = codes_of({symbol: 8 if symbol < 144 else 9 if symbol < 256 else 7 if symbol < 280 else 8 for symbol in range(288)})
FIXED_DISTANCES = {symbol: (symbol, 5) for symbol in range(32)}


def dynamic(bits, literals, distances, literal_count=257, distance_count=1, last=1, more=()):
    """The header of a block with these code lengths. `more`: (symbol, value, bits) of code lengths, behind all others."""
    code_lengths = {**_PLAIN, 15: 5, 18: 5} if more else _PLAIN
    bits.put(last, 1).put(2, 2).put(literal_count - 257, 5).put(distance_count - 1, 5).put(15, 4)
    for symbol in _ORDER:
        bits.put(code_lengths.get(symbol, 0), 3)
    codes = codes_of(code_lengths)
    bits.code(codes, *[literals.get(symbol, 0) for symbol in range(literal_count)])
    bits.code(codes, *[distances.get(symbol, 0) for symbol in range(distance_count)][:distance_count - len(more)])
    for symbol, value, count in more:
        bits.code(codes, symbol).put(value, count)
    return codes_of(literals), codes_of(distances)


def _fixed_length_286():
    bits = Bits().put(1, 1).put(1, 2).code(FIXED, ord("a"), 286).code(FIXED_DISTANCES, 0).code(FIXED, END)
    return bits.bytes(), b"a" * 259


def _fixed_distance_30():
    bits = Bits().put(1, 1).put(1, 2).code(FIXED, ord("a"))
    for _ in range(100):
        bits.code(FIXED, 285).code(FIXED_DISTANCES, 0)
    bits.code(FIXED, 257).code(FIXED_DISTANCES, 30).put(0, 13).code(FIXED, END)
    return bits.bytes(), b"a" * (1 + 25_800 + 3)


def _one_distance():
    """One distance code of one bit, '0'; the match says '1'."""
    bits = Bits()
    literals, _ = dynamic(bits, {ord("a"): 1, END: 2, 257: 2}, {0: 1}, literal_count=258)
    return bits.code(literals, ord("a"), 257).put(1, 1).code(literals, END).bytes(), b"aaaa"


def _no_distance():
    bits = Bits()
    literals, _ = dynamic(bits, {ord("a"): 1, END: 2, 257: 2}, {}, literal_count=258)
    return bits.code(literals, ord("a"), 257).put(0, 1).code(literals, END).bytes(), b"aaaa"


def _one_literal():
    """A block whose only code is that of its end, '0'; it says '1'. Another block has the content."""
    bits = Bits()
    dynamic(bits, {END: 1}, {0: 1}, last=0)
    bits.put(1, 1).put(1, 1).put(1, 2).code(FIXED, ord("a"), END)
    return bits.bytes(), b"a"


def _counts(literal_count, distance_count):
    bits = Bits()
    literals, _ = dynamic(bits, {ord("a"): 1, END: 1}, {0: 1}, literal_count=literal_count, distance_count=distance_count)
    return bits.code(literals, ord("a"), END).bytes(), b"a"


def _repeats_too_far():
    """The last code lengths are zeros, repeated for more symbols than there are."""
    bits = Bits()
    literals, _ = dynamic(bits, {ord("a"): 1, END: 1}, {0: 1}, distance_count=3, more=[(18, 0, 7)])
    return bits.code(literals, ord("a"), END).bytes(), b"a"


UNDEFINED = {"length-286": _fixed_length_286(), "distance-30": _fixed_distance_30(), "one-distance": _one_distance(),
             "no-distance": _no_distance(), "one-literal": _one_literal(), "287-lengths": _counts(287, 1),
             "31-distances": _counts(257, 31), "repeats": _repeats_too_far()}
