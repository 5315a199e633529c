#!/bin/sh
# What a tool does that calls docker, with cells in the place of containers. $DOCKER is `snapcell-docker`.
set -eu
docker=${DOCKER:-snapcell-docker}
box=$($docker run -d --rm --network none -m 256m -w /home/user python:3 sleep 1h)
trap '$docker rm -f "$box" >/dev/null' EXIT
$docker exec "$box" sh -c 'echo "print(6 * 7)" > answer.py'
$docker exec "$box" python3 answer.py
