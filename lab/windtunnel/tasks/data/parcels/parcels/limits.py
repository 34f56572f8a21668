"""What a parcel may weigh and measure."""

MAX_WEIGHT = 30
MAX_GIRTH = 10 * MAX_WEIGHT


def fits(weight, girth):
    """Whether a parcel is within both limits."""
    return weight <= MAX_WEIGHT and girth <= MAX_GIRTH


def spare(weight):
    """How much more may go in."""
    return max(0, MAX_WEIGHT - weight)
