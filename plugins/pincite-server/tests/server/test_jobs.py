"""The queue: the order of jobs, leases and limits, on both databases."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pincite_server import jobs as module
from pincite_server.database import Database
from pincite_server.jobs import MAX_ATTEMPTS, Job, JobStore, Status
from pincite_server.problems import Problem
from pincite_server.tables import now

REQUEST = {"example": "article"}


def submit(store: JobStore, owner: str = "local", **request: Any) -> str:
    return store.submit(owner, "verify", "t", request or REQUEST).job_id


def kinds(store: JobStore, job_id: str) -> list[str]:
    return [event.kind for event in store.events(job_id)]


def found(store: JobStore, job_id: str) -> Job:
    job = store.get(job_id)
    assert job
    return job


def test_a_job_ends_with_its_result_and_files(store: JobStore) -> None:
    job_id = submit(store)
    store.take("w")
    store.add_events(job_id, "w", [("article", {"title": "A"}), ("judged", {"done": 1})])
    assert store.finish(
        job_id,
        "w",
        Status.DONE,
        result='{"a": "ü\\ud800"}',
        files={"article": {"title": "The real title"}},
    )
    job = found(store, job_id)
    assert job.ended
    assert job.status is Status.DONE
    assert job.title == "The real title"
    assert store.result(job_id) == b'{"a": "\xc3\xbc\\ud800"}'
    assert store.file(job_id, "article") == {"title": "The real title"}
    assert store.file(job_id, "none") is None
    numbers = [event.number for event in store.events(job_id)]
    assert numbers == [1, 2, 3, 4, 5]
    assert job.n_events == 5
    assert [e.number for e in store.events(job_id, after=3)] == [4, 5]
    assert kinds(store, job_id) == ["queued", "started", "article", "judged", "ended"]


def test_a_text_that_was_sent_is_kept_apart(store: JobStore) -> None:
    job_id = submit(store, text="a long one\ud800", title="x")
    job = found(store, job_id)
    assert job.request == {"title": "x"}
    assert store.full_request(job) == {"title": "x", "text": "a long one\ud800"}


def test_only_the_worker_that_holds_a_job_changes_it(store: JobStore) -> None:
    job_id = submit(store)
    store.take("w")
    store.add_events(job_id, "another", [("judged", {})])
    assert not store.finish(job_id, "another", Status.DONE, result="{}")
    assert not store.renew(job_id, "another")
    store.requeue(job_id, "another", died=True)
    job = found(store, job_id)
    assert (job.status, job.title) == (Status.RUNNING, "t")
    assert kinds(store, job_id) == ["queued", "started"]


def test_cancelling(store: JobStore) -> None:
    waits, runs, ended = submit(store), submit(store), submit(store)
    store.cancel(waits)
    assert found(store, waits).status is Status.CANCELLED
    assert store.take("w").job_id == runs  # type: ignore[union-attr]
    asked = store.cancel(runs)
    assert asked
    assert asked.cancelled
    assert asked.status is Status.RUNNING
    assert not store.renew(runs, "w"), "the worker learns of it"
    assert store.finish(runs, "w", Status.CANCELLED, result="{}")
    assert store.take("w").job_id == ended  # type: ignore[union-attr]
    store.finish(ended, "w", Status.DONE, result="{}")
    after = store.cancel(ended)
    assert after
    assert after.status is Status.DONE
    assert not after.cancelled
    assert store.cancel("nobody") is None


def test_an_abandoned_job_goes_back_and_its_former_worker_has_nothing_to_say(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, cancelled = submit(store), submit(store)
    store.take("stopped")
    store.take("stopped")
    store.cancel(cancelled)
    assert store.requeue_abandoned() == []
    late(monkeypatch)
    assert store.renew(job_id, "stopped")  # its lease ran out unnoticed
    assert store.requeue_abandoned() == [cancelled]
    assert found(store, cancelled).status is Status.CANCELLED
    late(monkeypatch, hours=2)
    assert store.requeue_abandoned() == [job_id]
    monkeypatch.undo()
    again = store.take("next")
    assert again
    assert (again.job_id, again.attempts) == (job_id, 2)
    assert not store.renew(job_id, "stopped")  # it was continued
    assert not store.finish(job_id, "stopped", Status.DONE, result='"old"')
    assert store.finish(job_id, "next", Status.DONE, result='"new"')
    assert store.result(job_id) == b'"new"'
    assert kinds(store, job_id) == ["queued", "started", "queued", "started", "ended"]


def test_a_job_that_always_brings_its_process_down_fails(store: JobStore) -> None:
    job_id = submit(store)
    for died in (*[False] * MAX_ATTEMPTS, *[True] * MAX_ATTEMPTS):  # a stopped worker's count not
        assert found(store, job_id).status is Status.QUEUED
        assert store.take("w")
        store.requeue(job_id, "w", died=died)
    job = found(store, job_id)
    assert job.status is Status.FAILED
    assert job.problem
    assert job.problem["code"] == "worker_died"
    assert store.take("w") is None


def test_pages_of_a_list_have_every_job_once_even_at_one_time(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "now", lambda: 1000.0)
    made = {submit(store) for _ in range(5)}
    seen: list[str] = []
    before = None
    while page := store.list_jobs("local", 2, before):
        seen += [job.job_id for job in page]
        before = (page[-1].created, page[-1].job_id)
    assert len(seen) == 5
    assert set(seen) == made
    assert store.list_jobs("somebody", 5) == []
    assert len(store.list_jobs(None, 9, kinds=["verify"])) == 5
    assert store.list_jobs(None, 9, kinds=["ask"]) == []


def test_old_jobs_go_with_all_they_left_and_those_under_way_stay(store: JobStore) -> None:
    old, runs, waits = submit(store), submit(store), submit(store)
    store.take("w")
    store.finish(old, "w", Status.DONE, result="{}", files={"article": {}})
    store.take("w")
    assert store.delete_older(now() - 60) == 0
    assert store.delete_older(now() + 60) == 1
    assert store.get(old) is None
    assert store.events(old) == []
    assert store.file(old, "article") is None
    assert store.get(runs)
    assert store.get(waits)


def test_many_workers_never_take_the_same_job(database: Database) -> None:
    store = JobStore(database, queue=100)
    made = [submit(store) for _ in range(30)]

    def drain(worker: str) -> list[str]:
        mine = []
        while job := store.take(worker):
            mine.append(job.job_id)
            assert store.finish(job.job_id, worker, Status.DONE, result="{}")
        return mine

    with ThreadPoolExecutor(6) as pool:
        taken = [job_id for mine in pool.map(drain, "abcdef") for job_id in mine]
    assert sorted(taken) == sorted(made)
    for job_id in made:
        assert [e.number for e in store.events(job_id)] == [1, 2, 3]


def test_an_end_and_a_cancellation_at_once_leave_one_of_the_two(database: Database) -> None:
    store = JobStore(database, queue=100)
    for _ in range(8):
        job_id = submit(store)
        store.take("w")
        acts: list[Callable[[], object]] = [
            lambda job_id=job_id: store.finish(job_id, "w", Status.DONE, result="{}"),  # type: ignore[misc]
            lambda job_id=job_id: store.cancel(job_id),  # type: ignore[misc]
            lambda job_id=job_id: store.requeue(job_id, "w", died=True),  # type: ignore[misc]
        ]
        at_once(lambda number, acts=acts: acts[number](), 3)  # type: ignore[misc]
        job = found(store, job_id)
        ends = kinds(store, job_id).count("ended")
        assert ends == (1 if job.ended else 0)
        assert (store.result(job_id) is not None) == (job.status is Status.DONE)
        store.cancel(job_id)


def at_once(act: Callable[[int], Any], n: int) -> list[Any]:
    """`act(0)` … `act(n - 1)`, begun together."""
    gate = threading.Barrier(n)
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda number: (gate.wait(), act(number))[1], range(n)))


def late(monkeypatch: pytest.MonkeyPatch, hours: int = 1) -> None:
    """Hours pass."""
    at = now() + 3600 * hours
    monkeypatch.setattr(module, "now", lambda: at)


def test_accounts_take_turns(store: JobStore) -> None:
    """Who queues three jobs makes somebody who comes later wait for one of them."""
    many = [submit(store, "a") for _ in range(3)]
    late = submit(store, "b")
    for expected in (many[0], late):
        assert store.take("w").job_id == expected  # type: ignore[union-attr]
        store.finish(expected, "w", Status.DONE, result="{}")
    again = submit(store, "b")  # whose last job was begun last
    rest = [job.job_id for job in iter(lambda: store.take("w"), None)]
    assert rest == [many[1], again, many[2]]


def test_the_place_in_the_queue_follows_the_turns(database: Database) -> None:
    store = JobStore(database)
    first = submit(store, "b")
    assert store.take("w")
    waiting = [submit(store, owner) for owner in "aaabcbc"]
    ahead = {job_id: store.n_ahead(job_id) for job_id in waiting}
    assert store.n_ahead(first) == 0  # it runs
    taken = [job.job_id for job in iter(lambda: store.take("w"), None)]
    assert sorted(waiting, key=ahead.__getitem__) == taken
    assert sorted(ahead.values()) == list(range(len(waiting)))


def test_one_account_has_so_many_jobs_at_once_and_no_more(database: Database) -> None:
    store = JobStore(database, queue=100, per_owner=2)
    first = submit(store, "a")
    submit(store, "a")
    with pytest.raises(Problem) as refused:
        submit(store, "a")
    assert refused.value.code == "too_many_of_yours"
    submit(store, "b")
    assert store.take("w").job_id == first  # type: ignore[union-attr]
    with pytest.raises(Problem):  # one that runs counts
        submit(store, "a")
    store.finish(first, "w", Status.DONE, result="{}")
    submit(store, "a")


def test_at_once_one_account_gets_no_more_than_its_share(database: Database) -> None:
    store = JobStore(database, queue=100, per_owner=3)

    def one(_number: int) -> bool:
        try:
            return bool(submit(store, "a"))
        except Problem:
            return False

    assert sum(at_once(one, 12)) == 3


def test_sent_files_are_kept_as_long_as_a_job_names_them(store: JobStore) -> None:
    files = [{"stored": "00001", "name": "a.pdf", "n_bytes": 7}]
    asked = {"text": "T", "upload": "u" * 22, "files": files}
    first = store.submit("anna", "verify", "T", asked)
    store.submit("bert", "verify", "T", {"text": "T"})
    assert store.upload_sizes() == store.upload_sizes("anna") == {"u" * 22: 7}
    assert store.upload_sizes("bert") == {}
    store.cancel(first.job_id)
    assert store.upload_sizes() == {"u" * 22: 7}
    store.delete_older(now() + 60)
    assert store.upload_sizes() == {}
