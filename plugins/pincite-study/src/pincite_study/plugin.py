"""What studies add to Pincite's server."""

from pathlib import Path

from pincite_server.identity import Role
from pincite_server.plugins import Plugin
from pincite_study.routes import rating, studies
from pincite_study.routes.rating import RATE, STUDY
from pincite_study.tables import metadata
from pincite_study.tables import studies as studies_table

PLUGIN = Plugin(
    name="study",
    routers=(studies.router, rating.router),
    navigation=(("/studies", "Studies"),),
    folder=Path(__file__).parent,
    permissions={RATE: (Role.RATER, Role.READER, Role.EDITOR), STUDY: (Role.EDITOR,)},
    tables=metadata,
    owners=(studies_table.c.owner,),
)
