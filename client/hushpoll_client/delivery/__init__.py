"""The way of an answer out of the device: randomized once into a report, kept on disk, sent until it has arrived."""
