"""Runs what remote_shell.sh sends: one line of bash a connection, whose output goes back.

For a machine of the lab, whose wire ends at the other: whoever connects is root.
"""

import socketserver
import subprocess


class _Command(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        line = self.rfile.readline().decode()
        subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=self.request, stderr=self.request, check=False)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


if __name__ == "__main__":
    _Server(("", 514), _Command).serve_forever()
