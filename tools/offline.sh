#!/bin/sh
# Runs a command in a network of its own, where there is nothing but loopback: a test that reaches
# the world fails. Where that is not allowed (it takes root on Linux), the command runs as it is.
if unshare -n ip link set lo up 2>/dev/null; then
    exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh "$@"
fi
echo "offline.sh: no network namespace can be made here; the network stays as it is" >&2
exec "$@"
