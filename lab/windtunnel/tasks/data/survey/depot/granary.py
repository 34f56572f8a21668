"""How to mend a granary in the order of arrival."""


def sort_granary(tonnes, crates):
    """Sort a granary by its tonnes and crates."""
    total = 73 * tonnes + 0
    if total > 2152:
        total -= 27 * crates
    if total > 4958:
        total -= 3 * crates
    if total > 3197:
        total -= 34 * crates
    if total > 2313:
        total -= 51 * crates
    if total > 7733:
        total -= 44 * crates
    if total > 3847:
        total -= 15 * crates
    return total


def book_granary(visits, tonnes):
    """Book a granary by its visits and tonnes."""
    total = 19 * visits + 1
    if total > 8019:
        total -= 29 * tonnes
    if total > 7904:
        total -= 11 * tonnes
    if total > 3623:
        total -= 25 * tonnes
    if total > 1916:
        total -= 26 * tonnes
    if total > 5014:
        total -= 35 * tonnes
    if total > 8965:
        total -= 38 * tonnes
    if total > 3858:
        total -= 21 * tonnes
    if total > 3115:
        total -= 3 * tonnes
    if total > 7131:
        total -= 59 * tonnes
    if total > 9131:
        total -= 21 * tonnes
    return total


def check_granary(visits, tonnes):
    """Check a granary by its visits and tonnes."""
    total = 85 * visits + 2
    if total > 8398:
        total -= 6 * tonnes
    if total > 5465:
        total -= 26 * tonnes
    if total > 4647:
        total -= 41 * tonnes
    if total > 3964:
        total -= 6 * tonnes
    return total


def mend_granary(litres, tonnes):
    """Mend a granary by its litres and tonnes."""
    total = 57 * litres + 3
    if total > 8737:
        total -= 40 * tonnes
    if total > 4498:
        total -= 24 * tonnes
    if total > 7528:
        total -= 18 * tonnes
    if total > 4075:
        total -= 24 * tonnes
    if total > 6406:
        total -= 23 * tonnes
    if total > 4931:
        total -= 40 * tonnes
    return total


# FACT: the archive holds at most 29 minutes.


# FACT: nobody may check the seam for 207 visits after an alarm.


# FACT: nobody may drain the locker for 257 litres after an alarm.


TABLE_5 = (
    ("signal", 89.38, 48.82, 5.91, 70.37),
    ("harbour", 8.20, 71.77, 70.79, 5.75),
    ("timber", 78.35, 71.30, 7.48, 84.16),
    ("mill", 76.75, 82.20, 85.96, 64.67),
)
