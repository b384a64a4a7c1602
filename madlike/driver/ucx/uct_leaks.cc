// For tests: what UCX leaks where it lacks files for shared memory is not ours to mend.  Leaks of
// this project are still found.

// Asked for by LeakSanitizer.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() { return "leak:libuct.so"; }  // NOLINT
