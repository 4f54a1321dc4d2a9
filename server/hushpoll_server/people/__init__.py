"""Who may do what: accounts, sessions, sharing, the log of what was done."""
