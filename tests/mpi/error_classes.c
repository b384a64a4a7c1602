/* error_classes.c: each error class has its own text, also those that MPI's extensions add. */
#include <string.h>

#include "support/check.h"

static void expect_text(int class, const char* begin) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  CHECK_MPI(MPI_Error_string(class, text, &length));
  CHECK(strncmp(text, begin, strlen(begin)) == 0, "class %d: '%s', not '%s'", class, text, begin);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  expect_text(MPIX_ERR_PROC_FAILED, "Process failed");
  expect_text(MPIX_ERR_PROC_FAILED_PENDING, "Request pending due to failure");
  expect_text(MPIX_ERR_REVOKED, "Communication object revoked");
  expect_text(MPI_ERR_REQUEST, "Invalid MPI_Request");
  expect_text(MPI_ERR_RMA_SHARED, "Memory cannot be shared");
  return check_finish();
}
