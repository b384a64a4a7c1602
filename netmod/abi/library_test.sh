#!/bin/sh
# The shared library as it is installed: its soname, and that nothing but mad_* leaves it.
#
#   library_test.sh LIBRARY MAD_H
set -eu
library=$1
header=$2

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = libmad.so.1 ] || fail "the soname is '$soname', not libmad.so.1"

exported=$(nm -D --defined-only "$library" | awk '{sub(/@.*/, "", $3); print $3}' | grep -v '^MAD_1$' | sort)
foreign=$(echo "$exported" | grep -v '^mad_' || true)
[ -z "$foreign" ] || fail "these symbols leave the library:" $foreign

declared=$(sed -n 's/^MAD_API.*[ *]\(mad_[a-z_]*\)(.*/\1/p' "$header" | sort)
[ -n "$declared" ] || fail "no function found in $header"
for name in $declared; do
    echo "$exported" | grep -qx "$name" || fail "mad.h declares $name, the library does not have it"
done
for name in $exported; do
    echo "$declared" | grep -qx "$name" || fail "the library exports $name, mad.h does not declare it"
done
