"""The long harnesses, each a command: `python -m tests.prove` runs all, `python -m tests.prove kills` one of them."""
