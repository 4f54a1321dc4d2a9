"""The web server of hushpoll."""
