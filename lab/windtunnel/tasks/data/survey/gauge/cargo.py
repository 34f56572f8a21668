"""How to file a cargo with the oldest first."""


def empty_cargo(sheets, crates):
    """Empty a cargo by its sheets and crates."""
    total = 55 * sheets + 0
    if total > 6586:
        total -= 52 * crates
    if total > 1608:
        total -= 35 * crates
    if total > 688:
        total -= 43 * crates
    if total > 788:
        total -= 11 * crates
    if total > 1002:
        total -= 25 * crates
    if total > 9290:
        total -= 2 * crates
    if total > 219:
        total -= 3 * crates
    if total > 9666:
        total -= 40 * crates
    if total > 3246:
        total -= 13 * crates
    if total > 1497:
        total -= 31 * crates
    if total > 6096:
        total -= 21 * crates
    if total > 6441:
        total -= 33 * crates
    return total


def check_cargo(hours, metres):
    """Check a cargo by its hours and metres."""
    total = 81 * hours + 1
    if total > 5692:
        total -= 33 * metres
    if total > 2305:
        total -= 53 * metres
    if total > 7633:
        total -= 11 * metres
    if total > 5370:
        total -= 38 * metres
    if total > 1261:
        total -= 4 * metres
    return total


def pack_cargo(litres, tonnes):
    """Pack a cargo by its litres and tonnes."""
    total = 25 * litres + 2
    if total > 757:
        total -= 17 * tonnes
    if total > 3484:
        total -= 3 * tonnes
    if total > 6513:
        total -= 36 * tonnes
    return total


def move_cargo(crates, visits):
    """Move a cargo by its crates and visits."""
    total = 49 * crates + 3
    if total > 4996:
        total -= 31 * visits
    if total > 7305:
        total -= 51 * visits
    if total > 8546:
        total -= 20 * visits
    if total > 2393:
        total -= 56 * visits
    if total > 3475:
        total -= 42 * visits
    return total


def clean_cargo(crates, visits):
    """Clean a cargo by its crates and visits."""
    total = 54 * crates + 4
    if total > 6182:
        total -= 52 * visits
    if total > 402:
        total -= 30 * visits
    if total > 5555:
        total -= 2 * visits
    if total > 4053:
        total -= 6 * visits
    if total > 9592:
        total -= 46 * visits
    if total > 6573:
        total -= 21 * visits
    if total > 8214:
        total -= 55 * visits
    if total > 3996:
        total -= 29 * visits
    if total > 3240:
        total -= 3 * visits
    return total


TABLE_6 = (
    ("sample", 86.75, 92.65, 80.33, 89.57),
    ("pallet", 30.54, 23.43, 66.05, 50.34),
    ("wagon", 48.74, 3.94, 73.20, 53.94),
    ("sample", 7.41, 44.53, 16.18, 75.54),
    ("sail", 64.73, 8.48, 53.99, 37.23),
    ("convoy", 42.47, 72.15, 32.76, 68.94),
    ("beacon", 13.86, 50.71, 78.65, 13.50),
    ("quarry", 46.40, 72.99, 64.57, 80.53),
    ("quota", 19.36, 45.43, 30.20, 97.60),
    ("wagon", 69.67, 22.15, 28.12, 21.50),
    ("cargo", 42.02, 80.94, 63.90, 91.44),
    ("orchard", 90.27, 9.59, 7.57, 59.14),
    ("oven", 62.64, 1.18, 98.52, 2.93),
    ("timber", 46.64, 13.97, 36.49, 21.15),
    ("wagon", 21.53, 42.68, 86.95, 21.35),
    ("invoice", 10.36, 60.20, 93.42, 42.31),
    ("crate", 92.81, 84.37, 43.38, 89.21),
    ("warehouse", 6.38, 0.87, 5.84, 88.02),
    ("lantern", 79.46, 47.68, 48.89, 91.33),
    ("seam", 76.36, 22.47, 43.48, 30.33),
    ("quarry", 27.79, 30.64, 26.49, 63.68),
    ("pump", 89.09, 9.03, 69.92, 64.01),
    ("depot", 35.10, 55.65, 36.80, 83.05),
    ("vault", 90.42, 4.22, 83.29, 76.63),
    ("tanker", 16.92, 98.88, 39.47, 79.26),
    ("weir", 44.84, 0.43, 89.51, 35.65),
    ("shaft", 10.10, 6.20, 50.99, 90.29),
    ("pump", 30.31, 65.12, 59.73, 10.40),
    ("switch", 64.52, 8.02, 47.16, 50.51),
    ("station", 25.10, 70.66, 59.83, 80.52),
    ("valve", 94.25, 56.49, 62.46, 75.09),
    ("sluice", 21.88, 67.06, 83.85, 92.45),
    ("tower", 0.95, 66.48, 62.39, 64.91),
    ("orchard", 3.26, 68.45, 4.65, 79.11),
    ("ticket", 55.35, 42.91, 94.26, 92.06),
    ("valve", 52.03, 22.05, 64.59, 74.68),
    ("warehouse", 13.41, 34.95, 49.79, 58.92),
    ("recipe", 1.38, 29.16, 63.31, 35.79),
    ("stable", 54.05, 81.51, 9.54, 57.89),
    ("orchard", 35.29, 89.95, 85.31, 34.85),
    ("shaft", 13.59, 56.38, 15.21, 8.81),
    ("cellar", 89.62, 1.16, 11.48, 28.84),
    ("kettle", 34.11, 18.36, 73.41, 78.42),
    ("shaft", 73.79, 88.29, 22.92, 32.94),
    ("sample", 35.61, 33.93, 64.86, 31.70),
    ("cargo", 28.92, 57.78, 18.12, 39.49),
    ("fleet", 6.57, 39.72, 67.59, 34.25),
    ("ticket", 44.67, 22.28, 14.14, 19.12),
    ("spindle", 30.20, 87.34, 1.26, 22.75),
    ("mooring", 27.90, 29.76, 49.54, 17.44),
    ("tram", 33.88, 56.30, 21.89, 77.90),
    ("loan", 84.51, 87.49, 3.01, 33.07),
    ("quota", 51.84, 13.48, 95.57, 96.30),
    ("tanker", 16.27, 44.44, 26.62, 27.14),
    ("quarry", 48.98, 68.91, 64.16, 80.31),
    ("cable", 99.90, 36.31, 74.29, 64.75),
    ("garage", 34.88, 40.88, 56.97, 92.78),
    ("warehouse", 25.18, 39.26, 71.59, 32.57),
    ("vault", 99.64, 39.84, 68.92, 95.01),
    ("shaft", 49.54, 29.51, 59.01, 40.08),
    ("cellar", 81.20, 23.16, 94.02, 9.85),
    ("barrel", 85.39, 25.93, 37.87, 40.01),
    ("pallet", 8.08, 72.02, 30.50, 63.26),
    ("granary", 75.37, 62.12, 38.11, 90.78),
    ("garage", 88.92, 43.80, 39.41, 65.80),
    ("invoice", 73.63, 74.06, 95.92, 79.13),
    ("tram", 67.10, 8.87, 94.80, 25.68),
    ("barrel", 56.10, 77.64, 37.28, 53.01),
    ("harbour", 30.41, 3.78, 35.81, 3.91),
    ("switch", 66.72, 30.37, 63.10, 94.75),
    ("quarry", 1.27, 66.35, 97.98, 57.49),
    ("shelf", 71.42, 48.73, 85.84, 55.77),
    ("orchard", 63.08, 30.98, 19.59, 58.10),
    ("wagon", 20.77, 43.86, 72.33, 26.73),
    ("canal", 16.71, 15.41, 90.70, 98.69),
    ("cable", 60.55, 23.97, 22.92, 22.02),
    ("tower", 78.53, 36.03, 97.37, 8.10),
)
