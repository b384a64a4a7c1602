/* truncation.c: messages longer and shorter than the receive that takes them.
 *
 * Too long a message is MPI_ERR_TRUNCATE, touches nothing outside the receive's type map, and
 * leaves the connection fit for the next message.  A shorter one is no error and leaves the rest
 * untouched, unless it ends inside an element, which is MPI_ERR_TYPE.
 */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 3 };

/* Ints sent and received, so that the end falls in the head of a message, in its first packets, and
 * far behind. */
static const int kSmall = 30, kMiddle = 9000, kLarge = 399999;

static MPI_Comm comm;
static int rank;
static uint32_t stamp;

static Layout make(bool gapped, int ints) {
  return gapped ? layout_strided(ints / 3, 3, 5) : layout_contiguous(ints);
}

/* Posted: the receive waits for the message; else the message waits for the receive. */
static int receive(const Layout* layout, void* base, bool posted, MPI_Status* status) {
  MPI_Request request;
  if (!posted) MPI_Barrier(comm);
  MPI_Irecv(base, 1, layout->type, 0, kTag, comm, &request);
  if (posted) MPI_Barrier(comm);
  return MPI_Wait(&request, status);
}

static void send(const Layout* layout, const void* base, bool posted) {
  MPI_Request request;
  if (posted) MPI_Barrier(comm);
  CHECK_MPI(MPI_Isend(base, 1, layout->type, 1, kTag, comm, &request));
  if (!posted) MPI_Barrier(comm);
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* What lies outside the receive's map is as image_fill() left it. */
static void check_outside(Image* image, const char* what) {
  Image reference = *image;
  for (size_t i = 0; i < image->map.count; i++) { /* blank the inside of both */
    const Entry* entry = &image->map.entries[i];
    for (int32_t b = 0; b < entry->size; b++) {
      image->memory[entry->offset - image->low + b] = (uint8_t)(0xA5 ^ stamp);
    }
  }
  CHECK_IMAGE_PREFIX(&reference, stamp, 0, "%s", what);
}

static void too_long(int sent, int received, bool gapped, bool posted, const char* path) {
  Layout layout = make(gapped, rank == 0 ? sent : received);
  Image image = layout_image(&layout, 1, ++stamp, rank == 0);
  if (rank == 0) {
    send(&layout, image.base, posted);
  } else {
    char what[120];
    MPI_Status status;
    snprintf(what, sizeof(what), "%d ints into %d, gapped %d, posted %d, path %s", sent, received,
             gapped, posted, path);
    CHECK_CLASS(receive(&layout, image.base, posted, &status), MPI_ERR_TRUNCATE);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == kTag, "from %d with tag %d: %s",
          status.MPI_SOURCE, status.MPI_TAG, what);
    check_outside(&image, what);
  }
  image_free(&image);
  layout_free(&layout);
}

static void too_short(int sent, int received, bool gapped, bool posted, const char* path) {
  Layout layout = make(gapped, rank == 0 ? sent : received);
  Image image = layout_image(&layout, 1, ++stamp, rank == 0);
  if (rank == 0) {
    send(&layout, image.base, posted);
  } else {
    MPI_Status status;
    int ints;
    CHECK_MPI(receive(&layout, image.base, posted, &status));
    MPI_Get_elements(&status, MPI_INT, &ints);
    CHECK(ints == sent, "%d ints, %d were sent", ints, sent);
    CHECK_IMAGE_PREFIX(&image, stamp, (size_t)sent, "%d ints into %d, gapped %d, path %s", sent,
                       received, gapped, path);
  }
  image_free(&image);
  layout_free(&layout);
}

/* A message that ends inside an int of the receive was sent with another signature. */
static void inside_an_element(bool posted, const char* path) {
  Layout layout = make(true, kMiddle);
  Image image = layout_image(&layout, 1, ++stamp, false);
  if (rank == 0) {
    char bytes[4 * 5 + 3] = "";
    if (posted) MPI_Barrier(comm);
    CHECK_MPI(MPI_Send(bytes, sizeof(bytes), MPI_CHAR, 1, kTag, comm));
    if (!posted) MPI_Barrier(comm);
  } else {
    MPI_Status status;
    const int error = receive(&layout, image.base, posted, &status);
    int class;
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_TYPE, "class %d, expected MPI_ERR_TYPE, on path %s, posted %d", class,
          path, posted);
  }
  image_free(&image);
  layout_free(&layout);
}

static MPI_Comm told = MPI_COMM_NULL;

static void tell(MPI_Comm* its, int* error, ...) {
  if (*error != MPI_SUCCESS) told = *its;
}

/* So is one that was matched before; its communicator's error handler is told. */
static void matched_before(void) {
  int words[2] = {1, 2}, word = 0;
  MPI_Comm own;
  MPI_Errhandler telling;
  MPI_Comm_dup(comm, &own);
  MPI_Comm_create_errhandler(tell, &telling);
  MPI_Comm_set_errhandler(own, telling);
  if (rank == 0) {
    CHECK_MPI(MPI_Send(words, 2, MPI_INT, 1, kTag, own));
    CHECK_MPI(MPI_Send(words, 1, MPI_INT, 1, kTag, own));
  } else {
    MPI_Message message;
    CHECK_MPI(MPI_Mprobe(0, kTag, own, &message, MPI_STATUS_IGNORE));
    CHECK_CLASS(MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(told == own, "another error handler was told, or none");
    CHECK(message == MPI_MESSAGE_NULL, "the message is still there");
    CHECK_MPI(MPI_Mprobe(0, kTag, own, &message, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(word == 1, "%d was received", word);
  }
  told = MPI_COMM_NULL;
  MPI_Errhandler_free(&telling);
  MPI_Comm_free(&own);
}

/* The error of one of many stands in its own status. */
static void among_many(void) {
  enum { kMany = 5 };
  Layout layout = make(true, kMiddle), narrow = make(true, kSmall);
  Image images[kMany];
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  for (int i = 0; i < kMany; i++) {
    const Layout* mine = rank == 1 && i == 2 ? &narrow : &layout;
    images[i] = layout_image(mine, 1, stamp + 1 + (uint32_t)i, rank == 0);
    if (rank == 0)
      MPI_Isend(images[i].base, 1, mine->type, 1, i, comm, &requests[i]);
    else
      MPI_Irecv(images[i].base, 1, mine->type, 0, i, comm, &requests[i]);
  }
  const int error = MPI_Waitall(kMany, requests, statuses);
  if (rank == 1) {
    CHECK_CLASS(error, MPI_ERR_IN_STATUS);
    for (int i = 0; i < kMany; i++) {
      int class;
      MPI_Error_class(statuses[i].MPI_ERROR, &class);
      /* Waitall may return before the others are complete; it then says so. */
      if (class == MPI_ERR_PENDING) statuses[i].MPI_ERROR = MPI_Wait(&requests[i], &statuses[i]);
      CHECK_CLASS(statuses[i].MPI_ERROR, i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      if (i != 2)
        CHECK_IMAGE(&images[i], stamp + 1 + (uint32_t)i, "message %d beside a long one", i);
    }
  } else {
    CHECK_MPI(error);
  }
  stamp += kMany;
  for (int i = 0; i < kMany; i++) image_free(&images[i]);
  layout_free(&layout);
  layout_free(&narrow);
}

/* ---- types of ints and doubles, one element into the room for two ---- */

typedef struct Mixed {
  const char* name;
  Layout layout;
} Mixed;

static void add_pair(Layout* layout, int64_t at) {
  typemap_add(&layout->map, at, sizeof(int));
  typemap_add(&layout->map, at + 8, sizeof(double));
}

/* {int, two members without bytes, double}: no count of elements by members gets this right. */
static Mixed mixed_struct(void) {
  Mixed mixed = {"struct with empty members", {MPI_DATATYPE_NULL, {0}, 16}};
  MPI_Datatype types[4] = {MPI_INT, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DOUBLE};
  const int lengths[] = {1, 1, 1, 1};
  const MPI_Aint places[] = {0, 4, 4, 8};
  MPI_Type_contiguous(0, MPI_INT, &types[1]);
  MPI_Type_create_struct(0, NULL, NULL, NULL, &types[2]);
  MPI_Type_create_struct(4, lengths, places, types, &mixed.layout.type);
  MPI_Type_free(&types[1]);
  MPI_Type_free(&types[2]);
  add_pair(&mixed.layout, 0);
  return mixed;
}

static MPI_Datatype pair(void) {
  MPI_Datatype type;
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 8}, types, &type);
  return type;
}

static Mixed mixed_darray(void) {
  Mixed mixed = {"darray", {MPI_DATATYPE_NULL, {0}, 4 * 16}};
  MPI_Datatype child = pair();
  MPI_Type_create_darray(2, 0, 1, (const int[]){4}, (const int[]){MPI_DISTRIBUTE_CYCLIC},
                         (const int[]){1}, (const int[]){2}, MPI_ORDER_C, child,
                         &mixed.layout.type);
  MPI_Type_free(&child);
  for (int i = 0; i < 4; i += 2) add_pair(&mixed.layout, i * 16);
  return mixed;
}

/* 2 x 3 of 4 x 5, and something behind it. */
static Mixed mixed_subarray(void) {
  Mixed mixed = {"subarray in a struct", {MPI_DATATYPE_NULL, {0}, 4 * 5 * 16 + 16}};
  MPI_Datatype types[] = {pair(), MPI_DATATYPE_NULL};
  MPI_Type_create_subarray(2, (const int[]){4, 5}, (const int[]){2, 3}, (const int[]){1, 1},
                           MPI_ORDER_C, types[0], &types[1]);
  const MPI_Datatype members[] = {types[1], types[0]};
  MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 4 * 5 * 16}, members,
                         &mixed.layout.type);
  for (int t = 0; t < 2; t++) MPI_Type_free(&types[t]);
  for (int i = 0; i < 6; i++) add_pair(&mixed.layout, ((1 + i / 3) * 5 + 1 + i % 3) * 16);
  add_pair(&mixed.layout, 4 * 5 * 16);
  return mixed;
}

/* No element ends early, whatever MPICH's own count of basic elements says. */
static void half_full(Mixed mixed, const char* path) {
  Layout* layout = &mixed.layout;
  MPI_Type_commit(&layout->type);
  const int count = rank == 0 ? 1 : 2;
  Image image = layout_image(layout, (size_t)count, ++stamp, rank == 0);
  if (rank == 0) {
    MPI_Send(image.base, count, layout->type, 1, kTag, comm);
  } else {
    CHECK_MPI(MPI_Recv(image.base, count, layout->type, 0, kTag, comm, MPI_STATUS_IGNORE));
    CHECK_IMAGE_PREFIX(&image, stamp, layout->map.count, "%s, path %s", mixed.name, path);
  }
  image_free(&image);
  layout_free(layout);
}

int main(int argc, char** argv) {
  const int kSent[][2] = {{kSmall, 3},      {kMiddle, 3},      {kMiddle, kSmall},
                          {kLarge, kSmall}, {kLarge, kMiddle}, {kLarge, kLarge - 3}};
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  /* MPICH raises the errors of MPI_Waitall there. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    for (int i = 0; i < 6 * 4; i++) {
      const int *ints = kSent[i / 4], gapped = i & 1, posted = i >> 1 & 1;
      too_long(ints[0], ints[1], gapped, posted, kPaths[p]);
      too_short(ints[1], ints[0], gapped, posted, kPaths[p]);
    }
    inside_an_element(false, kPaths[p]);
    inside_an_element(true, kPaths[p]);
    matched_before();
    among_many();
    half_full(mixed_struct(), kPaths[p]);
    half_full(mixed_darray(), kPaths[p]);
    half_full(mixed_subarray(), kPaths[p]);
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
