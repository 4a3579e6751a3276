"""What the scripts of perf/ share."""


class CannotRun(Exception):
    """Something is not there, or a program failed."""


class WrongAnswer(Exception):
    """Two ways of doing the same did not agree."""
