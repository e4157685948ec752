"""Who may see what is not their own."""

from dataclasses import dataclass

from pincite.server.jobs.store import Job
from pincite.server.library.register import CorpusEntry, Shared
from pincite.server.people.identity import Identity
from pincite.server.site import Site


@dataclass(frozen=True, slots=True)
class SharedJob:
    """What a share link opens: the report, which quotes its sources, and nothing else of them."""

    job: Job
    result: bytes  # the report's JSON


def may_read(corpus: CorpusEntry, who: Identity) -> bool:
    """Whether somebody may search a corpus and read its documents."""
    if who.owns(corpus.owner) or corpus.shared is Shared.EVERYBODY:
        return True
    return corpus.shared is Shared.GROUP and corpus.group_id in who.groups


def may_share(who: Identity, shared: Shared, group_id: str | None) -> bool:
    """Whether somebody may share what is theirs so: with groups that they are in."""
    if shared is not Shared.GROUP:
        return group_id is None
    return group_id is not None and (who.is_admin or group_id in who.groups)


def shared_job(site: Site, token: str) -> SharedJob | None:
    """What a share link's token opens; None: nothing (any more)."""
    job_id = site.people.links.job_of(token)
    job = site.jobs.get(job_id) if job_id else None
    result = site.jobs.result(job.job_id) if job else None
    return SharedJob(job, result) if job and result is not None else None
