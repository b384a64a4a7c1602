#!/bin/bash
# An MPI job with two ranks on each of the lab's two machines, which do not reach each other any more after a while.
# mpiexec cannot tell then what became of its ranks: each leaves its output in its machine's $WHERE, with a line "ok ..."
# where all went well. (It may never end: the emulator's kernel waits for a device whose wire is gone.)
#   parted.sh start MPIEXEC PROGRAM [ARGUMENT...]   on lab1: ends well if ranks 0 and 1 do
#   parted.sh serve                                 on lab2: the same of ranks 2 and 3
#   parted.sh rank PROGRAM [ARGUMENT...]            one rank
here=$(dirname "$(readlink -f "$0")")
what=$1
shift
export WHERE=/lab/ranks

ended() {  # RANK...
  local rank well end=$((SECONDS + 240))  # so that their output is seen before the check's own limit
  while [ $SECONDS -lt $end ]; do
    well=$(for rank; do grep -l '^ok' "$WHERE/$rank.output"; done 2> /dev/null | wc -l)
    [ "$well" -lt $# ] || break
    for rank; do [ ! -e "$WHERE/$rank.exit" ] || [ "$(cat "$WHERE/$rank.exit")" = 0 ] || break 2; done
    sleep 0.2
  done
  for rank; do sed "s/^/rank $rank: /" "$WHERE/$rank.output"; done
  [ "$well" -eq $# ]
}

[ "$what" = rank ] || { rm -rf "$WHERE"; mkdir "$WHERE"; }
case $what in
  start)
    mpiexec=$1
    shift
    for i in $(seq 60); do (: > /dev/tcp/lab2/514) 2> /dev/null && break; sleep 1; done
    "$mpiexec" -launcher rsh -launcher-exec "$here/remote_shell.sh" -hosts lab1,lab2 -ppn 2 -n 4 \
      -disable-auto-cleanup bash "$here/parted.sh" rank "$@" &
    ended 0 1
    code=$?
    kill "$!" 2> /dev/null
    exit "$code"
    ;;
  serve)
    python3 -B "$here/shell_server.py" &
    ended 2 3
    ;;
  rank)
    "$@" > "$WHERE/$PMI_RANK.output" 2>&1
    echo $? > "$WHERE/$PMI_RANK.exit"
    ;;
esac
