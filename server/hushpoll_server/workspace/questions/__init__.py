"""A draft's questions: the list, the editor, blocks."""
