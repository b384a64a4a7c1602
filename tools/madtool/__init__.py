"""The Python behind `tools/mad`: sets the machine up, builds libmad and MPICH on it, runs and tests them."""
