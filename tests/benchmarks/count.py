"""Read the one argument of a benchmark, a count."""

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter


def count(about: str | None, what: str, default: int) -> int:
    """Return the number on the command line, or `default`. `about` and `what` are for
    --help."""
    parser = ArgumentParser(
        description=about, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "count",
        nargs="?",
        type=_positive,
        default=default,
        help=f"{what} (default: %(default)s)",
    )
    return parser.parse_args().count


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
