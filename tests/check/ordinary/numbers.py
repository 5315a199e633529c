import math
import random
import statistics
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import chain, islice, permutations

getcontext().prec = 50
random.seed(7)
sample = [random.gauss(0, 1) for _ in range(1000)]
print(statistics.fmean(sample), statistics.stdev(sample), math.fsum(sample))
print(Decimal(1) / Decimal(7), Fraction(1, 3) + Fraction(1, 6), sum(range(10)))
print(list(islice(chain([1, 2], permutations("ab")), 3)), (lambda x: x * 2)(4))
primes = [n for n in range(2, 60) if all(n % d for d in range(2, int(n ** 0.5) + 1))]
print(f"{primes!r:>10} {len(primes):03d} {max(primes)=}")
x = (y := 3) + 1
print("so"[::-1], ["o", "s"], {"exec": 1}["exec"], x, y)
