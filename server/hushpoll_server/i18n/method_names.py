"""The names of interval methods that pages show and translate; for the analysis they are identifiers."""

from hushpoll_client.messages import msg

METHOD_NAMES = (
    msg("blaker"),
    msg("bootstrap"),
    msg("clopper-pearson"),
    msg("jeffreys"),
    msg("likelihood"),
    msg("mover"),
    msg("score"),
    msg("wald"),
    msg("wilson"),
)
