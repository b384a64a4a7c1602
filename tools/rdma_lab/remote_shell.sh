#!/bin/bash
# HOST COMMAND...: runs a command on the other machine of the lab, where shell_server.py listens; rsh(1) for mpiexec.
exec 3<> "/dev/tcp/$1/514" || exit
shift
printf '%s\n' "$*" >&3
exec cat <&3
