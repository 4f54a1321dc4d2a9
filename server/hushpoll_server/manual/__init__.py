"""The documentation, served by the server itself: nobody has to look elsewhere, and nothing is loaded from there."""
