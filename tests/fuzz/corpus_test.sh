#!/bin/sh
# Runs a packed corpus: corpus_test.sh PROGRAM ARCHIVE.
set -eu
tar -xzf "$2" -C "$TEST_TMPDIR"
exec "$1" "$TEST_TMPDIR"
