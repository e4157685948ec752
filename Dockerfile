# pincite serve, for processors only. Build: docker build -t pincite:local .
# With blind studies.
# Compiled here, because the image is read-only and each job is a process of its own.
# The versions are those that the tests ran with (constraints.txt).
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE constraints.txt ./
COPY src ./src
COPY plugins/pincite-evidenceseeker ./plugins/pincite-evidenceseeker
COPY plugins/pincite-server ./plugins/pincite-server
COPY plugins/pincite-study ./plugins/pincite-study
RUN python -m venv /opt/pincite \
    && /opt/pincite/bin/pip install --no-cache-dir -c constraints.txt \
        . ./plugins/pincite-evidenceseeker ./plugins/pincite-server ./plugins/pincite-study

FROM python:3.11-slim-bookworm
# What deploy/backup.sh (here pincite-backup) calls. PostgreSQL's tools have to be of the server's
# version or newer. Debian keeps one version of a package at a time: none can be pinned for long.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client-15 sqlite3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin pincite \
    && install -d -o pincite -g pincite -m 0700 /data
COPY --from=build /opt/pincite /opt/pincite
COPY deploy/backup.sh /usr/local/bin/pincite-backup
ENV PATH=/opt/pincite/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PINCITE_CACHE=/data/cache \
    PINCITE_SERVER_DATA=/data \
    PINCITE_SERVER_HOST=0.0.0.0 \
    PINCITE_SERVER_MODE=server \
    PINCITE_SERVER_LOG=json
USER 10001:10001
VOLUME /data
EXPOSE 8765
# Nothing but /data and /tmp is written: run it with --read-only --tmpfs /tmp.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
CMD ["pincite", "serve"]
