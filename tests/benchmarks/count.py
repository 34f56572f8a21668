"""The one argument of a benchmark: how many."""

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter


def count(about: str | None, what: str, default: int) -> int:
    """The number on the command line, `default` where there is none; --help says `about`."""
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument(
        "count", nargs="?", type=_positive, default=default, help=f"{what} (default: %(default)s)"
    )
    return parser.parse_args().count


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)
