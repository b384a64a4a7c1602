// A library that says it is of another build: for the test of the loader.
extern "C" const char* mad_ucx_identity(void) { return "another"; }
extern "C" void mad_ucx_open(void) {}
