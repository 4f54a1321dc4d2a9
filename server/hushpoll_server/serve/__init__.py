"""Running it: gunicorn, the demo survey, the demo study."""
