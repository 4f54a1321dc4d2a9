"""The web server of hushpoll."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from .config import Config


def create_app(config: Config | None = None) -> Flask:
    """Return the application; its tables exist already (see `surveys.open_store`)."""
    # Imported here, because every command imports this package and most need no web server.
    # No module with a blueprint imports the analysis when it is loaded: that would cost a collecting worker 150 MB.
    from flask import Flask

    from . import current_store, files, problems, security
    from .collect import api, management_api
    from .collect.report_writer import Writer
    from .config import Config
    from .manual import pages as manual
    from .people import pages as people
    from .respond import page as respond
    from .results import pages as results
    from .store import surveys
    from .workspace import blueprint as workspace

    config = config or Config.from_environment()
    app = Flask(__name__, static_folder=None, static_url_path="/static")
    # No address of respondents redirects, one with a slash too many neither.
    app.url_map.merge_slashes = False
    store = surveys.Store(config, Writer)
    app.config.update(HUSHPOLL=config, SECRET_KEY=store.secret, TESTING=config.testing)
    current_store.init_app(app, store)
    problems.init_app(app)
    files.init_app(app)
    for module in (api, management_api, respond, people, workspace, results, manual):
        app.register_blueprint(module.bp)
    # Last, so that its proxy headers are read before any other middleware.
    security.init_app(app, config)
    return app
