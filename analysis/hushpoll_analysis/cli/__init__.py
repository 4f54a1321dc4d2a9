"""The commands of the analysis; nothing is loaded before one of them runs."""

from hushpoll_client.cli.registry import Command

_LINES = {
    "audit": "Measure a survey's epsilon by drawing from its real randomizer.",
    "design": "The best channel for a question, and what every other one costs.",
    "estimate": "Estimate true shares, with intervals, from report counts.",
    "fit": "Fit a regression model to randomized answers.",
    "plan": "Number of answers, margin and epsilon: each from the other two.",
    "power": "The chance to see a share or a difference, and the answers it takes.",
    "simulate": "Simulate respondents with a known truth.",
}

COMMANDS = {
    name: Command(f"hushpoll_analysis.cli.{name}:{name}", line, "analysis") for name, line in _LINES.items()
}
"""Each is in the module of its name."""
