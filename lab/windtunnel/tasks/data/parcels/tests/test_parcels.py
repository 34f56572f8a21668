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
