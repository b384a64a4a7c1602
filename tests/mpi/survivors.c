/* survivors.c: an epoch of several targets, of which one has died, ends for the living.
 *
 * The windows' operations and synchronisation are messages (MPI_Win_create).  Rank 1 is the victim:
 * what is told the members one after the other has to reach those behind it, while rank 0, who is
 * told of the failure, lives on.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum { kTag = 1, kVictim = 1 };

static MPI_Comm comm;
static int rank, last, cell;

static MPI_Win open_window(void) {
  MPI_Win win;
  MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  return win;
}

static void tell(int other) { CHECK_MPI(MPI_Send(NULL, 0, MPI_INT, other, kTag, comm)); }
static void hear(int other) {
  CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, other, kTag, comm, MPI_STATUS_IGNORE));
}

static void die_when_told(void) {
  hear(0);
  kill(getpid(), SIGKILL);
}

/* Of the victim, who is known to be dead then. */
static void have_it_die(void) {
  int value;
  tell(kVictim);
  CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, kVictim, kTag, comm, MPI_STATUS_IGNORE),
              MPIX_ERR_PROC_FAILED);
}

/* The class may be MPI_ERR_RMA_SYNC, which MPICH puts over every failure to begin or end. */
static void expect_failed_epoch(int error, const char* what) {
  CHECK(error != MPI_SUCCESS, "%s with the dead went well", what);
  CHECK_TEXT(error, "Communication with rank 1 of ");
}

/* The last rank gets all locks that there are, while rank 0 is alive. */
static void lock_the_living(MPI_Win win) {
  const int living[2] = {0, last};
  hear(0);
  for (int i = 0; i < 2; i++) {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, living[i], 0, win));
    CHECK_MPI(MPI_Win_unlock(living[i], win));
  }
  tell(0);
}

/* Rank 0 has locked all. */
static void unlocking_all(MPI_Win win) {
  if (rank == last) lock_the_living(win);
  if (rank != 0) return;
  CHECK_MPI(MPI_Win_lock_all(0, win));
  have_it_die();
  expect_failed_epoch(MPI_Win_unlock_all(win), "unlocking all");
  tell(last), hear(last);
}

/* Rank 0 wants to lock all: nobody is locked then. */
static void locking_all(MPI_Win win) {
  if (rank == last) lock_the_living(win);
  if (rank != 0) return;
  have_it_die();
  expect_failed_epoch(MPI_Win_lock_all(0, win), "locking all");
  tell(last), hear(last);
  CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win)); /* no epoch had begun */
}

/* Rank 0 has locked the dead and the last, of whom it gives both back. */
static void unlocking(MPI_Win win) {
  if (rank == last) lock_the_living(win);
  if (rank != 0) return;
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, kVictim, 0, win));
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win));
  have_it_die();
  expect_failed_epoch(MPI_Win_unlock(kVictim, win), "unlocking it");
  CHECK_MPI(MPI_Win_unlock(last, win));
  tell(last), hear(last);
  CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win)); /* all epochs have ended */
}

static MPI_Group group_of(int first, int end) {
  MPI_Group all, group;
  int range[1][3] = {{first, end, 1}};
  MPI_Comm_group(comm, &all);
  MPI_Group_range_incl(all, 1, range, &group);
  MPI_Group_free(&all);
  return group;
}

/* Rank 0 completes to a group of whom the first is dead. */
static void completing(MPI_Win win) {
  MPI_Group group = rank == 0 ? group_of(1, last) : group_of(0, 0);
  if (rank > 0) CHECK_MPI(MPI_Win_post(group, 0, win));
  if (rank == kVictim) die_when_told();
  if (rank == last) {
    CHECK_MPI(MPI_Win_wait(win));
    tell(0);
  } else if (rank == 0) {
    CHECK_MPI(MPI_Win_start(group, 0, win));
    have_it_die();
    expect_failed_epoch(MPI_Win_complete(win), "completing");
    hear(last);
  }
  MPI_Group_free(&group);
}

/* A post to a group of whom one is dead is an error; then one to the living goes well. */
static void posting(MPI_Win win) {
  MPI_Group everybody = group_of(1, last),
            living = rank == 0 ? group_of(last, last) : group_of(0, 0);
  if (rank == 0) {
    have_it_die();
    expect_failed_epoch(MPI_Win_post(everybody, 0, win), "posting");
    CHECK_MPI(MPI_Win_post(living, 0, win));
    CHECK_MPI(MPI_Win_wait(win));
  } else if (rank == last) {
    CHECK_MPI(MPI_Win_start(living, 0, win));
    CHECK_MPI(MPI_Win_complete(win));
  }
  MPI_Group_free(&everybody), MPI_Group_free(&living);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*play)(MPI_Win win);
    bool dies_in_it; /* else when it is told, and nothing more */
  } kScenes[] = {{"unlocking-all", unlocking_all, false},
                 {"locking-all", locking_all, false},
                 {"unlocking", unlocking, false},
                 {"completing", completing, true},
                 {"posting", posting, false}};
  const char* name = argc > 1 ? argv[1] : "";
  int found = 0;
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &last);
  --last;
  for (size_t i = 0; i < sizeof(kScenes) / sizeof(kScenes[0]); i++) {
    if (strcmp(kScenes[i].name, name) != 0) continue;
    MPI_Win win = open_window();
    if (rank == kVictim && !kScenes[i].dies_in_it) die_when_told();
    kScenes[i].play(win);
    found = 1;
  }
  if (!found) {
    fprintf(stderr, "survivors: no scene '%s'\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  check_exit_alone(rank == 0);
}
