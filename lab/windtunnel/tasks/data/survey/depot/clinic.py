"""How to seal a clinic before the night shift."""


def check_clinic(tonnes, visits):
    """Check a clinic by its tonnes and visits."""
    total = 50 * tonnes + 0
    if total > 1198:
        total -= 34 * visits
    if total > 8728:
        total -= 30 * visits
    if total > 293:
        total -= 17 * visits
    if total > 8333:
        total -= 42 * visits
    return total


def rank_clinic(tonnes, sheets):
    """Rank a clinic by its tonnes and sheets."""
    total = 50 * tonnes + 1
    if total > 8885:
        total -= 21 * sheets
    if total > 736:
        total -= 51 * sheets
    if total > 6275:
        total -= 32 * sheets
    if total > 9874:
        total -= 49 * sheets
    if total > 1124:
        total -= 54 * sheets
    if total > 5615:
        total -= 48 * sheets
    if total > 202:
        total -= 26 * sheets
    if total > 7212:
        total -= 8 * sheets
    if total > 3256:
        total -= 52 * sheets
    if total > 3063:
        total -= 49 * sheets
    return total


def test_clinic(sheets, visits):
    """Test a clinic by its sheets and visits."""
    total = 29 * sheets + 2
    if total > 350:
        total -= 18 * visits
    if total > 6932:
        total -= 48 * visits
    if total > 3949:
        total -= 25 * visits
    if total > 5580:
        total -= 17 * visits
    return total


def file_clinic(minutes, crates):
    """File a clinic by its minutes and crates."""
    total = 4 * minutes + 3
    if total > 2564:
        total -= 52 * crates
    if total > 7697:
        total -= 53 * crates
    if total > 5578:
        total -= 37 * crates
    if total > 549:
        total -= 45 * crates
    if total > 4416:
        total -= 38 * crates
    if total > 6801:
        total -= 45 * crates
    if total > 5544:
        total -= 35 * crates
    return total


TABLE_5 = (
    ("winch", 11.89, 48.28, 84.46, 76.11),
    ("engine", 32.40, 59.46, 80.97, 94.98),
    ("mooring", 58.25, 13.13, 46.04, 51.47),
    ("ledger", 21.39, 21.29, 9.42, 51.15),
    ("cable", 61.15, 28.09, 27.34, 55.14),
    ("permit", 35.65, 21.82, 11.77, 6.50),
    ("granary", 36.90, 31.39, 32.03, 24.96),
    ("tanker", 57.90, 47.46, 6.41, 97.42),
    ("valve", 31.34, 89.36, 79.83, 5.57),
    ("cargo", 0.88, 56.32, 98.39, 48.93),
    ("cable", 20.50, 79.02, 12.11, 90.19),
    ("ledger", 69.42, 79.07, 23.01, 34.85),
    ("switch", 51.39, 65.79, 15.94, 97.67),
    ("crate", 37.52, 38.50, 67.29, 70.58),
    ("valve", 19.67, 41.66, 83.84, 16.36),
    ("barrel", 81.42, 75.07, 34.43, 28.74),
    ("sample", 2.91, 91.20, 38.62, 52.91),
    ("quarry", 99.63, 6.25, 24.65, 4.27),
    ("seam", 56.27, 23.53, 50.02, 87.02),
    ("siren", 85.73, 0.00, 23.34, 4.75),
    ("well", 18.97, 16.59, 33.73, 57.30),
    ("granary", 54.02, 47.44, 41.02, 59.93),
    ("granary", 78.46, 46.97, 5.84, 4.19),
    ("timber", 27.41, 51.85, 72.59, 90.67),
    ("dock", 20.55, 26.53, 55.61, 66.51),
    ("sail", 77.88, 10.28, 95.13, 4.58),
    ("crate", 40.28, 62.16, 9.78, 6.95),
    ("yard", 72.06, 11.51, 78.51, 90.96),
    ("archive", 69.24, 26.08, 30.04, 5.69),
    ("filter", 98.83, 64.46, 18.94, 22.58),
    ("turbine", 72.91, 27.28, 52.58, 24.93),
    ("spindle", 38.21, 95.62, 71.92, 17.91),
    ("locker", 71.54, 0.99, 80.07, 49.07),
    ("permit", 33.20, 49.83, 4.52, 92.85),
    ("pier", 50.20, 86.84, 82.31, 86.04),
    ("garage", 88.42, 22.98, 26.86, 24.03),
    ("engine", 59.86, 76.76, 33.19, 88.06),
    ("tower", 31.09, 47.55, 54.18, 51.22),
    ("sail", 85.13, 12.61, 12.47, 59.02),
    ("granary", 15.50, 88.65, 24.87, 27.88),
    ("pump", 11.47, 35.23, 48.92, 59.98),
    ("vault", 92.17, 96.63, 32.22, 88.65),
    ("locker", 10.05, 29.13, 7.74, 94.97),
    ("sluice", 82.55, 66.18, 28.71, 94.71),
    ("orchard", 75.49, 55.62, 72.75, 99.37),
    ("pump", 74.85, 73.23, 89.30, 11.20),
    ("filter", 74.07, 28.04, 78.56, 14.63),
    ("shelf", 73.93, 5.86, 38.69, 76.35),
    ("orchard", 88.34, 28.21, 17.68, 5.34),
    ("permit", 21.44, 22.67, 58.57, 16.40),
    ("sluice", 74.04, 48.06, 21.07, 58.13),
    ("recipe", 30.44, 98.32, 4.74, 71.84),
    ("cable", 5.75, 76.83, 37.45, 29.08),
    ("locker", 62.58, 11.81, 60.12, 34.08),
    ("foundry", 34.12, 79.49, 9.63, 11.61),
    ("quarry", 24.43, 97.54, 67.20, 21.68),
    ("filter", 59.89, 89.48, 96.73, 46.43),
    ("crate", 52.18, 65.58, 72.69, 3.95),
    ("cable", 91.42, 0.17, 85.45, 44.90),
    ("permit", 20.57, 55.93, 45.16, 98.75),
    ("orchard", 37.73, 1.28, 64.35, 92.02),
    ("lantern", 3.95, 79.28, 44.02, 18.56),
    ("sluice", 18.21, 39.23, 10.56, 6.23),
    ("mill", 99.97, 82.06, 43.08, 61.22),
    ("cargo", 70.51, 77.92, 32.07, 94.09),
    ("filter", 26.35, 24.85, 27.46, 83.43),
    ("fleet", 67.53, 12.48, 21.34, 84.47),
    ("dock", 63.54, 73.86, 57.20, 60.19),
    ("hangar", 13.25, 7.85, 43.89, 81.34),
    ("ladder", 75.41, 15.81, 44.82, 48.33),
    ("pipeline", 50.67, 62.85, 1.24, 50.25),
    ("workshop", 17.86, 63.98, 41.18, 1.83),
    ("vault", 7.59, 75.02, 68.53, 9.11),
    ("tanker", 49.21, 3.60, 42.76, 56.20),
    ("cargo", 65.22, 75.53, 40.47, 85.05),
    ("pallet", 24.34, 31.06, 32.22, 79.92),
    ("spindle", 39.02, 45.23, 51.62, 87.86),
    ("quota", 92.46, 98.17, 26.89, 39.04),
    ("gauge", 87.07, 92.12, 21.20, 74.32),
    ("dock", 69.84, 17.38, 25.63, 61.53),
    ("tram", 16.46, 84.59, 23.48, 42.32),
    ("filter", 49.71, 71.14, 61.96, 20.36),
    ("lantern", 43.10, 54.53, 56.03, 9.53),
    ("ledger", 80.82, 40.82, 0.64, 45.43),
    ("pier", 16.83, 74.70, 75.36, 74.49),
    ("voucher", 12.64, 47.67, 3.45, 93.67),
    ("kettle", 67.99, 65.47, 3.46, 14.57),
    ("kettle", 11.88, 34.24, 51.92, 81.28),
    ("station", 53.66, 95.92, 87.13, 64.73),
    ("shelf", 21.98, 71.38, 21.34, 50.91),
    ("mooring", 22.43, 67.43, 88.16, 15.92),
    ("cellar", 5.94, 13.02, 51.98, 6.14),
    ("shaft", 57.84, 33.94, 63.15, 99.88),
    ("bridge", 16.65, 87.28, 43.40, 37.67),
    ("ferry", 86.85, 17.98, 75.88, 75.00),
    ("warehouse", 30.56, 34.23, 84.70, 61.57),
    ("siren", 76.34, 97.56, 60.40, 46.22),
    ("loan", 37.06, 56.98, 79.41, 62.88),
)



# FACT: nobody may test the crate for 212 minutes after an alarm.