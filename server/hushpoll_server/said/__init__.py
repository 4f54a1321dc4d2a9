"""The translations of what the client, the analysis and the store say on pages, and the tool that keeps them whole."""
