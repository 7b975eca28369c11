"""``python -m tests.fuzz``: the long run of everything that is fuzzed."""

from tests.fuzz import calls

calls.main()
