"""Who looks at a result, and from where: whoever had it made, or whoever got a share link."""

from dataclasses import dataclass

from pincite.server.jobs.store import Job
from pincite.server.people.identity import Identity


@dataclass(frozen=True, slots=True)
class Look:
    """Somebody at the page of a job that has ended."""

    job: Job
    who: Identity | None  # None: nobody who is logged in
    link: str = ""  # the path of a share link; empty: the job's own page

    @property
    def place(self) -> str:
        """The path of the page; those of its pieces begin with it."""
        return self.link or f"/jobs/{self.job.job_id}"

    @property
    def is_own(self) -> bool:
        """Whether whole texts and forms are shown: through a link they are for nobody."""
        return not self.link and self.who is not None and self.who.owns(self.job.owner)
