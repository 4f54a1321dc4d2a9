"""The list of surveys and new drafts."""
