"""The workspace of the task `rename`: a small project of our own, as file texts.

It prices parcels. One name stands in many places, beside tables that make the files as long as
real ones. Its tests print no times. Not here: the task (scenarios).
"""

ZONES = 250
"""Rows of each table. It makes a file about 6,500 tokens long."""


def parcels() -> dict[str, str]:
    """path -> text. `MAX_WEIGHT` stands in 29 lines of seven files."""
    return {
        "README.md": _README,
        "parcels/__init__.py": '"""Prices, routes and labels for parcels."""\n',
        "parcels/limits.py": _LIMITS,
        "parcels/pricing.py": _PRICING + _table("TARIFFS", 7, 5),
        "parcels/routing.py": _ROUTING + _table("ROUTES", 11, 5),
        "parcels/depots.py": _DEPOTS + _table("DEPOTS", 13, 5),
        "parcels/checks.py": _CHECKS + _table("RETURNS", 17, 5),
        "parcels/labels.py": _LABELS + _table("PRINTERS", 19, 5),
        "tests/__init__.py": "",
        "tests/__main__.py": _RUNNER,
        "tests/test_parcels.py": _TESTS,
    }


def _table(name: str, step: int, columns: int) -> str:
    """A table of made-up figures, the same on every machine."""
    rows: list[str] = []
    for zone in range(1, ZONES + 1):
        figures = ", ".join(f"{(zone * step + k * 37) % 900 / 10:.2f}" for k in range(columns))
        rows.append(f'    "Z{zone:03}": ({figures}),')
    return "\n".join([f"{name} = {{", *rows, "}", ""])


_README = """\
# parcels

Prices, routes and labels for parcels. No dependencies.

Run the tests with `python -m tests`.
"""

_LIMITS = '''\
"""What a parcel may weigh and measure."""

MAX_WEIGHT = 30
MAX_GIRTH = 10 * MAX_WEIGHT


def fits(weight, girth):
    """Whether a parcel is within both limits."""
    return weight <= MAX_WEIGHT and girth <= MAX_GIRTH


def spare(weight):
    """How much more may go in."""
    return max(0, MAX_WEIGHT - weight)
'''

_PRICING = '''\
"""What it costs to send a parcel."""

from parcels.limits import MAX_WEIGHT


def weight_class(weight):
    """0 to 3: the quarter of the limit that the weight falls in."""
    if weight > MAX_WEIGHT:
        raise ValueError(f"{weight} kg is over {MAX_WEIGHT} kg")
    return min(3, int(4 * weight / MAX_WEIGHT))


def price(zone, weight):
    """The tariff of the zone for the weight's class."""
    if weight > MAX_WEIGHT:
        return None
    return TARIFFS[zone][weight_class(weight)]


def heaviest_price(zone):
    """What the heaviest parcel costs."""
    return price(zone, MAX_WEIGHT)


'''

_ROUTING = '''\
"""Which way a parcel goes."""

from parcels.limits import MAX_WEIGHT

AIR_LIMIT = MAX_WEIGHT / 2


def by_air(weight):
    """Whether it may fly: half the limit at most."""
    if weight > MAX_WEIGHT:
        return None
    return weight <= AIR_LIMIT


def legs(zone, weight):
    """How many legs the route has; heavy parcels take one more."""
    if weight > MAX_WEIGHT:
        return None
    return len(ROUTES[zone]) + (weight > AIR_LIMIT)


'''

_DEPOTS = '''\
"""Where parcels wait."""

from parcels.limits import MAX_WEIGHT

SHELF = 4 * MAX_WEIGHT


def shelves(weights):
    """How many shelves the parcels take."""
    if any(weight > MAX_WEIGHT for weight in weights):
        return None
    return -(-sum(weights) // SHELF)


def room(weights):
    """How many of the heaviest parcels still fit on the last shelf."""
    return int((shelves(weights) * SHELF - sum(weights)) // MAX_WEIGHT)


'''

_CHECKS = '''\
"""What is refused at the counter."""

from parcels.limits import MAX_WEIGHT


def refused(weight):
    """The reason, or None."""
    if weight <= 0:
        return "nothing to send"
    if weight > MAX_WEIGHT:
        return "too heavy"
    return None


def split(weight):
    """The weights of the fewest parcels that hold it all."""
    parts = []
    while weight > MAX_WEIGHT:
        parts.append(MAX_WEIGHT)
        weight -= MAX_WEIGHT
    return [*parts, weight]


'''

_LABELS = '''\
"""What is printed on a parcel."""

from parcels.limits import MAX_WEIGHT

HEAVY = f"HEAVY, up to {MAX_WEIGHT} kg"


def label(zone, weight):
    """The text of the label."""
    return f"{zone} {HEAVY if weight > MAX_WEIGHT / 2 else 'LIGHT'}"


'''

_RUNNER = '''\
"""All tests, with an output that is the same on every machine: no times."""

import io
import sys
import unittest

suite = unittest.defaultTestLoader.loadTestsFromName("tests.test_parcels")
result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
for case, trace in [*result.errors, *result.failures]:
    print(f"{case}: {trace.strip().splitlines()[-1]}")
print(f"{result.testsRun} tests, {len(result.errors) + len(result.failures)} failed")
sys.exit(not result.wasSuccessful())
'''

_TESTS = '''\
"""What the package promises."""

import unittest

from parcels import checks, depots, labels, pricing, routing
from parcels.limits import MAX_WEIGHT, fits, spare


class Limits(unittest.TestCase):
    def test_the_limit_fits(self):
        self.assertTrue(fits(MAX_WEIGHT, 300))

    def test_nothing_is_spare_at_the_limit(self):
        self.assertEqual(spare(MAX_WEIGHT), 0)


class Parcels(unittest.TestCase):
    def test_the_heaviest_has_a_price(self):
        self.assertEqual(pricing.heaviest_price("Z001"), pricing.price("Z001", 30))

    def test_heavy_parcels_stay_on_the_ground(self):
        self.assertFalse(routing.by_air(30))
        self.assertEqual(routing.legs("Z001", 30), 6)

    def test_a_shelf_holds_four(self):
        self.assertEqual(depots.shelves([30, 30, 30, 30, 1]), 2)
        self.assertEqual(depots.room([30]), 3)

    def test_too_heavy_is_refused(self):
        self.assertEqual(checks.refused(31), "too heavy")
        self.assertEqual(checks.split(70), [30, 30, 10])

    def test_a_label_names_the_limit(self):
        self.assertEqual(labels.label("Z001", 20), "Z001 HEAVY, up to 30 kg")
'''
