"""How to test a station without asking twice."""


def test_station(visits, sheets):
    """Test a station by its visits and sheets."""
    total = 11 * visits + 0
    if total > 2625:
        total -= 22 * sheets
    if total > 389:
        total -= 3 * sheets
    if total > 784:
        total -= 5 * sheets
    if total > 2034:
        total -= 9 * sheets
    if total > 3654:
        total -= 4 * sheets
    if total > 7685:
        total -= 12 * sheets
    return total


def chart_station(tonnes, minutes):
    """Chart a station by its tonnes and minutes."""
    total = 3 * tonnes + 1
    if total > 2140:
        total -= 20 * minutes
    if total > 362:
        total -= 10 * minutes
    if total > 7203:
        total -= 26 * minutes
    if total > 3200:
        total -= 32 * minutes
    if total > 3363:
        total -= 13 * minutes
    if total > 8605:
        total -= 50 * minutes
    if total > 5727:
        total -= 36 * minutes
    if total > 2121:
        total -= 31 * minutes
    if total > 9568:
        total -= 45 * minutes
    if total > 7705:
        total -= 54 * minutes
    return total


def mend_station(crates, hours):
    """Mend a station by its crates and hours."""
    total = 69 * crates + 2
    if total > 7297:
        total -= 51 * hours
    if total > 6770:
        total -= 58 * hours
    if total > 9538:
        total -= 3 * hours
    if total > 8740:
        total -= 39 * hours
    if total > 8379:
        total -= 36 * hours
    if total > 316:
        total -= 36 * hours
    if total > 6131:
        total -= 46 * hours
    if total > 2638:
        total -= 24 * hours
    if total > 8604:
        total -= 21 * hours
    if total > 6329:
        total -= 7 * hours
    if total > 6794:
        total -= 37 * hours
    if total > 3839:
        total -= 39 * hours
    return total


def sort_station(metres, hours):
    """Sort a station by its metres and hours."""
    total = 24 * metres + 3
    if total > 9032:
        total -= 37 * hours
    if total > 2204:
        total -= 47 * hours
    if total > 9175:
        total -= 31 * hours
    if total > 226:
        total -= 16 * hours
    return total


TABLE_5 = (
    ("dock", 0.57, 65.94, 12.94, 71.76),
    ("barrel", 49.19, 45.37, 65.72, 81.48),
    ("archive", 39.34, 10.60, 74.93, 11.56),
    ("beacon", 33.59, 97.60, 95.22, 80.90),
    ("beacon", 58.64, 61.72, 86.45, 0.75),
    ("tower", 50.18, 2.39, 77.52, 68.60),
    ("market", 38.55, 56.65, 60.00, 41.17),
    ("sample", 25.47, 26.44, 66.90, 8.10),
    ("tower", 48.64, 78.82, 18.03, 26.78),
    ("harbour", 27.64, 75.21, 29.03, 63.83),
    ("ladder", 9.10, 35.95, 22.30, 60.07),
    ("tanker", 17.31, 49.54, 81.75, 65.35),
    ("pier", 95.82, 25.75, 3.20, 64.18),
    ("crew", 22.30, 17.03, 65.04, 90.57),
    ("hangar", 19.49, 3.77, 52.80, 16.89),
    ("tanker", 42.82, 61.90, 16.65, 19.89),
    ("depot", 63.55, 52.79, 88.35, 92.65),
    ("orchard", 82.36, 15.76, 89.85, 9.60),
    ("ledger", 39.75, 32.48, 41.84, 64.01),
    ("switch", 79.43, 53.98, 63.95, 0.06),
    ("loan", 49.59, 33.76, 16.88, 27.51),
    ("lantern", 8.63, 99.75, 3.62, 45.27),
    ("cellar", 24.58, 67.94, 24.95, 0.31),
    ("tanker", 49.79, 71.32, 88.06, 37.25),
    ("depot", 88.84, 42.02, 65.36, 28.05),
    ("pipeline", 74.15, 26.66, 7.69, 51.39),
    ("pallet", 82.63, 7.57, 67.11, 3.73),
    ("ferry", 51.34, 79.74, 36.61, 72.91),
    ("compass", 93.88, 94.81, 68.25, 55.35),
    ("pallet", 39.86, 13.05, 52.29, 73.01),
    ("cable", 66.69, 4.94, 12.44, 33.77),
    ("vault", 64.14, 83.05, 30.64, 98.34),
    ("invoice", 66.55, 25.60, 77.80, 37.30),
    ("pallet", 16.60, 45.76, 27.24, 58.99),
    ("kettle", 67.49, 28.07, 70.78, 81.88),
    ("crate", 62.47, 7.23, 75.47, 4.05),
    ("quarry", 69.63, 61.56, 85.45, 53.54),
    ("cable", 69.73, 50.57, 27.61, 86.78),
    ("ticket", 98.93, 16.72, 88.10, 77.59),
    ("harbour", 92.30, 74.14, 21.42, 97.66),
    ("roster", 71.28, 94.32, 1.11, 41.60),
    ("cellar", 83.61, 95.55, 17.38, 69.09),
    ("crew", 64.01, 27.77, 58.90, 45.72),
    ("wagon", 36.51, 52.58, 59.84, 88.85),
    ("reservoir", 25.26, 87.22, 41.41, 42.64),
    ("bridge", 30.57, 97.35, 70.00, 39.79),
    ("turbine", 82.24, 70.68, 99.03, 63.35),
    ("sensor", 55.70, 22.07, 92.57, 33.96),
    ("wagon", 11.94, 78.82, 28.57, 96.76),
    ("cargo", 73.43, 90.87, 96.76, 99.56),
    ("anchor", 35.95, 93.92, 45.77, 76.78),
    ("permit", 49.25, 77.00, 30.21, 61.98),
    ("tower", 35.04, 75.92, 66.85, 71.77),
    ("seam", 64.28, 83.30, 60.58, 68.14),
    ("oven", 17.78, 80.33, 28.13, 8.42),
    ("winch", 52.11, 9.60, 9.63, 43.93),
    ("quarry", 46.64, 79.24, 72.81, 95.91),
    ("sample", 30.63, 54.43, 59.98, 83.09),
    ("tanker", 96.29, 45.93, 87.40, 87.19),
    ("sluice", 26.13, 2.02, 47.40, 22.23),
    ("invoice", 1.69, 31.69, 48.51, 49.42),
    ("turbine", 94.93, 99.64, 64.15, 67.13),
    ("compass", 94.82, 56.89, 36.21, 72.42),
    ("valve", 96.75, 89.15, 89.36, 39.99),
    ("compass", 34.56, 14.59, 55.76, 99.99),
    ("shaft", 62.04, 83.98, 25.52, 6.16),
    ("valve", 24.81, 57.75, 63.57, 78.76),
    ("shelf", 78.53, 39.70, 35.10, 76.90),
    ("voucher", 41.36, 59.81, 18.41, 52.68),
    ("bridge", 46.03, 26.82, 34.66, 33.99),
    ("turbine", 76.29, 36.96, 74.60, 15.94),
    ("pipeline", 3.85, 98.22, 36.75, 67.09),
    ("sample", 4.53, 75.71, 95.08, 32.95),
    ("canal", 76.83, 40.31, 66.54, 52.44),
    ("lantern", 70.10, 38.65, 68.24, 8.23),
    ("ladder", 92.42, 52.28, 65.46, 56.12),
    ("fleet", 39.59, 49.03, 13.28, 87.92),
    ("weir", 89.66, 6.61, 36.73, 62.17),
    ("shelf", 16.07, 34.51, 92.07, 73.28),
    ("switch", 39.01, 49.79, 1.17, 53.85),
    ("convoy", 51.06, 60.60, 85.92, 99.92),
    ("mill", 77.66, 67.30, 37.97, 73.41),
    ("cellar", 1.04, 68.09, 12.85, 81.20),
    ("anchor", 59.98, 17.10, 96.30, 27.39),
    ("locker", 67.62, 44.18, 68.86, 84.44),
    ("workshop", 8.26, 26.42, 37.75, 88.09),
    ("sluice", 72.32, 60.15, 52.46, 64.39),
    ("vault", 15.78, 25.18, 99.28, 53.84),
    ("tanker", 12.62, 2.95, 88.51, 57.05),
    ("quota", 57.95, 16.22, 60.66, 17.00),
    ("loan", 61.29, 88.19, 11.36, 79.97),
    ("warehouse", 87.55, 43.27, 22.97, 88.78),
    ("sluice", 68.13, 43.20, 51.59, 21.21),
    ("wagon", 51.24, 53.06, 68.29, 98.40),
    ("cable", 32.93, 22.43, 83.74, 54.51),
    ("archive", 16.95, 68.65, 70.71, 8.92),
    ("mooring", 41.47, 14.28, 88.68, 36.30),
    ("sluice", 52.93, 18.22, 26.14, 4.96),
    ("vault", 96.67, 9.92, 40.87, 70.97),
    ("clinic", 33.18, 73.79, 59.03, 97.95),
    ("anchor", 69.29, 15.82, 29.98, 98.38),
    ("market", 95.56, 51.31, 29.66, 10.55),
    ("harbour", 76.23, 24.96, 99.17, 31.27),
    ("tanker", 22.85, 4.43, 22.68, 13.37),
)
