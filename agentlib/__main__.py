"""`python -m agentlib` and `agentlib`: the agent in a terminal."""

import sys


def end(number: int, frame: object) -> None:
    """Unwind and end the program with a shell's code for a signal."""
    raise SystemExit(128 + number)


def run() -> None:
    """Take signals for an orderly end, also while it starts, and run the command."""
    import signal

    for name in {"SIGINT", "SIGTERM", "SIGHUP"} & {*dir(signal)}:
        number = getattr(signal, name)
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, end)

    from agentlib.cli.main import main

    if signal.getsignal(signal.SIGINT) is end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    raise SystemExit(main())


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` looks in the current folder first, and a `random.py` there isn't
        # ours.
        sys.path.append(sys.path.pop(0))
    run()
