"""What can go wrong, by the exit code the user sees: 1 failed, 2 wrong use or something missing."""


class Failure(Exception):
    """Something the tool did went wrong (exit 1)."""

    exit_code = 1


class Missing(Failure):
    """The user asked for something impossible or the machine lacks something (exit 2)."""

    exit_code = 2
