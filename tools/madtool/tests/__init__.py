"""Unit tests of the tool; `tools/mad test tool` runs them.  None needs a network or a built MPI."""
