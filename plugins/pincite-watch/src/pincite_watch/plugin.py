"""What watching adds to Pincite's server."""

from pathlib import Path

from pincite_server.plugins import Plugin
from pincite_watch.routes import router
from pincite_watch.tables import metadata

PLUGIN = Plugin(
    name="watch", routers=(router,), folder=Path(__file__).parent, tables=metadata, version=3
)
