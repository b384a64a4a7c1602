/* switch.c: the choice of a data path: attribute before hint before control variable.
 *
 * `switch` checks the rules; `switch verbose` only gives an unknown hint, which the runner looks
 * for in what MAD_VERBOSE=1 prints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/path.h"

#ifndef HAVE_MAD
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return check_skip("this MPI has no mpix_mad.h");
}
#else

static const char kNames[] = "auto, gather, hybrid, pipeline, pack, off";
static int rank, keyval;

static void expect(MPI_Comm comm, const char* path, const char* where) {
  char name[MPIX_MAD_MAX_PATH_NAME] = "";
  CHECK_MPI(MPIX_Mad_comm_get_path(comm, name, sizeof(name)));
  CHECK(strcmp(name, path) == 0, "path '%s', expected '%s': %s", name, path, where);
}

static void set_hint(MPI_Comm comm, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mad_datatype_path", value);
  CHECK_MPI(MPI_Comm_set_info(comm, info));
  MPI_Info_free(&info);
}

/* A gapped message to the other rank, which must arrive whatever the two sides chose. */
static int send_one(MPI_Comm comm) {
  int ints[9] = {0}, error;
  MPI_Datatype type;
  MPI_Type_vector(3, 1, 4, MPI_INT, &type);
  MPI_Type_commit(&type);
  if (rank == 0) {
    for (int i = 0; i < 9; i++) ints[i] = 100 + i;
    error = MPI_Send(ints, 1, type, 1, 1, comm);
  } else {
    error = MPI_Recv(ints, 1, type, 0, 1, comm, MPI_STATUS_IGNORE);
    CHECK(ints[0] == 100 && ints[4] == 104 && ints[8] == 108 && ints[1] == 0, "%d %d %d %d",
          ints[0], ints[4], ints[8], ints[1]);
  }
  MPI_Type_free(&type);
  return error;
}

static void precedence(const char* variable) {
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  expect(MPI_COMM_WORLD, variable, "nothing but the variable");
  expect(MPI_COMM_SELF, variable, "MPI_COMM_SELF");
  expect(comm, variable, "a fresh duplicate");
  set_hint(comm, "gather");
  expect(comm, "gather", "a hint before the variable");
  CHECK_MPI(MPIX_Mad_comm_set_path(comm, "pack"));
  expect(comm, "pack", "an attribute before the hint");
  set_hint(comm, "hybrid");
  expect(comm, "pack", "an attribute before a later hint");
  CHECK_MPI(MPIX_Mad_comm_set_path(comm, "off"));
  expect(comm, "off", "an attribute overwritten");
  CHECK_MPI(MPI_Comm_delete_attr(comm, keyval));
  expect(comm, "hybrid", "the hint, when the attribute is deleted");
  expect(MPI_COMM_WORLD, variable, "the world is as it was");
  CHECK_MPI(send_one(comm));
  MPI_Comm_free(&comm);
}

static void inheritance(const char* variable) {
  MPI_Comm parent = check_comm(MPI_COMM_WORLD), copy, split, hinted;
  MPI_Request request;
  CHECK_MPI(MPIX_Mad_comm_set_path(parent, "gather"));
  MPI_Comm_dup(parent, &copy);
  expect(copy, "gather", "a duplicate inherits");
  CHECK_MPI(MPIX_Mad_comm_set_path(copy, "pipeline"));
  expect(parent, "gather", "a duplicate's change is its own");
  expect(copy, "pipeline", "a duplicate can change");
  CHECK_MPI(send_one(copy));
  MPI_Comm_free(&copy);
  MPI_Comm_idup(parent, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(copy, "gather", "a nonblocking duplicate inherits");
  MPI_Comm_free(&copy);
  MPI_Comm_split(parent, 0, rank, &split);
  expect(split, variable, "a split communicator begins anew");
  MPI_Comm_free(&split);

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mad_datatype_path", "pack");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &hinted);
  expect(hinted, "pack", "a duplicate with its own hint");
  MPI_Comm_free(&hinted);
  /* who gets no communicator has nothing to give the hint to */
  MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, info,
                      &hinted);
  CHECK((hinted != MPI_COMM_NULL) == (rank == 0), "a communicator for those who asked");
  if (hinted != MPI_COMM_NULL) {
    expect(hinted, "pack", "a part of the world with its own hint");
    MPI_Comm_free(&hinted);
  }
  MPI_Info_free(&info);
  MPI_Comm_free(&parent);
}

/* A raw attribute is not looked at before it is used. */
static void wrong_attribute(void* value) {
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  CHECK_MPI(MPI_Comm_set_attr(comm, keyval, value));
  if (rank == 0) {
    const int error = send_one(comm);
    CHECK(error != MPI_SUCCESS, "a send with a wrong attribute succeeded");
    if (error != MPI_SUCCESS) CHECK_TEXT(error, kNames);
  }
  CHECK_MPI(MPI_Comm_delete_attr(comm, keyval));
  CHECK_MPI(send_one(comm)); /* it sent nothing then, and the communicator is good now */
  MPI_Comm_free(&comm);
}

static void raw_attribute(void) {
  /* Not the library's own string, and changed after use. */
  char name[] = "hybrid";
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  CHECK_MPI(MPI_Comm_set_attr(comm, keyval, name));
  expect(comm, "hybrid", "a raw attribute");
  CHECK_MPI(send_one(comm));
  strcpy(name, "pack");
  CHECK_MPI(MPI_Comm_set_attr(comm, keyval, name));
  expect(comm, "pack", "the same memory with another name");
  MPI_Comm_free(&comm);
}

static void wrong_calls(void) {
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  char name[MPIX_MAD_MAX_PATH_NAME];
  CHECK_MPI(MPIX_Mad_comm_set_path(comm, "gather"));
  const int error = MPIX_Mad_comm_set_path(comm, "express");
  CHECK_CLASS(error, MPI_ERR_ARG);
  CHECK_TEXT(error, "express");
  CHECK_TEXT(error, kNames);
  expect(comm, "gather", "a wrong name changes nothing");
  CHECK_CLASS(MPIX_Mad_comm_set_path(comm, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Mad_comm_set_path(comm, ""), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Mad_comm_get_path(comm, name, 6), MPI_ERR_ARG);
  CHECK_MPI(MPIX_Mad_comm_get_path(comm, name, 7));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPIX_Mad_comm_set_path(MPI_COMM_NULL, "gather"), MPI_ERR_COMM);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

static void unknown_hint(const char* variable) {
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  set_hint(comm, "express");
  expect(comm, variable, "an unknown hint is ignored");
  CHECK_MPI(send_one(comm));
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  const char* variable = getenv("MPIR_CVAR_CH4_MAD_DATATYPE_PATH");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!variable || !*variable) variable = "auto";
  CHECK_MPI(MPIX_Mad_get_keyval(&keyval));
  unknown_hint(variable);
  if (argc < 2) {
    precedence(variable);
    inheritance(variable);
    raw_attribute();
    wrong_attribute("express");
    wrong_attribute(NULL);
    wrong_calls();
  }
  return check_finish();
}
#endif
