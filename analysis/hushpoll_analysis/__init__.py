"""From report counts to estimates with intervals."""
