"""Where counts and columns come from, and where they go: frames, files, query engines, exports."""
