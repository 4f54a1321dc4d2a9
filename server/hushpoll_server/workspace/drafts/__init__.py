"""Drafts: survey documents that are being written, each with its plan, and how they are stored."""
