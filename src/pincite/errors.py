"""What can go wrong, as one tree, so that a caller catches as much or as little as it wants.

    PinciteError
    ├─ ConfigError     an unknown key or a bad value; the message lists the valid ones
    ├─ InputError      an article or a collection that is not there or cannot be read: file, line
    ├─ MissingModel    weights that are nowhere to be found; names the command that fetches them
    ├─ MissingExtra    a library of an extra that is not installed (also an ImportError)
    ├─ CorpusError     a folder that is not a corpus, is damaged, or is being written by another
    └─ StaleCorpus     a corpus built with another encoder or passage rule than it is used with

A source that cannot be checked is *not* an error: it is a `pincite.types.Unchecked`, a result.
Every message says what happened, what was expected and what to do.
"""


class PinciteError(Exception):
    """Any error that Pincite expects; the command line prints it without a traceback."""

    exit_code = 70


class ConfigError(PinciteError):
    """An option or a setting has a value that means nothing here."""

    exit_code = 2


class InputError(PinciteError):
    """An input file is missing, or nothing in it could be read."""

    exit_code = 3


class MissingModel(PinciteError):
    """Model weights are in none of the places where the loader looks."""

    exit_code = 6


class MissingExtra(PinciteError, ImportError):
    """A feature needs a library that the installed extras do not bring."""

    exit_code = 6


class CorpusError(PinciteError):
    """A corpus folder is missing, damaged, or locked by another writer."""

    exit_code = 7


class StaleCorpus(CorpusError):
    """The corpus was built with other weights or rules than the ones it is opened with."""
