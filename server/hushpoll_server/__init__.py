"""The web server of hushpoll."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from .config import Config

# Each module offers `bp`. None imports the analysis when it is loaded: that costs a collecting worker 150 MB.
BLUEPRINTS = [
    "collect.api",
    "collect.manage",
    "respond.page",
    "people.pages",
    "workspace.home",
    "results.pages",
    "manual.pages",
]


def create_app(config: Config | None = None) -> Flask:
    """Make the application; its tables exist already (see `surveys.open_store`)."""
    # Here, because every command imports this package and most need no web server: `hushpoll --help` took .4 s.
    from flask import Flask

    from . import files, problems, security
    from .collect.report_writer import Writer
    from .config import Config
    from .store import surveys

    config = config or Config.from_environment()
    app = Flask(__name__, static_folder=None, static_url_path="/static")
    # No address of respondents redirects, one with a slash too many neither.
    app.url_map.merge_slashes = False
    keeper = surveys.Store(config, Writer)
    app.config.update(HUSHPOLL=config, SECRET_KEY=keeper.secret, TESTING=config.testing)
    surveys.init_app(app, keeper)
    problems.init_app(app)
    files.init_app(app)
    for name in BLUEPRINTS:
        app.register_blueprint(import_module(f"{__name__}.{name}").bp)
    # Last, so that its proxy headers are read before any other middleware.
    security.init_app(app, config)
    return app
