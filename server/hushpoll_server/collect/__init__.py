"""The way of a report: checked, stored durably and once, sealed, closed."""
