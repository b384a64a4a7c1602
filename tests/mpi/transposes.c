/* transposes.c: matrices that arrive by columns.
 *
 * Columns of a line's width wait for one another where pieces of a message have some of them only,
 * in memory of one receive at a time.  So messages that end anywhere, are too long, or come two at
 * once are received here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { kTag = 7, kColumns = 24, kPitch = 27 };

typedef struct Element {
  int64_t words[2];
} Element;

static MPI_Comm comm;
static int rank;
static MPI_Datatype element;

/* A matrix of `rows` rows, of which kColumns columns arrive; the stream that they are of. */
typedef struct Matrix {
  int rows;
  MPI_Datatype column;
  Element* memory;
} Matrix;

static int64_t word_of(int stream, int number) { return (int64_t)stream * 1000000 + number + 1; }

static Element* make_stream(int stream, int elements) {
  Element* out = malloc((size_t)elements * sizeof(Element));
  for (int i = 0; i < elements; i++) out[i] = (Element){{word_of(stream, i), -word_of(stream, i)}};
  return out;
}

static Matrix make_matrix(int rows) {
  Matrix matrix = {.rows = rows};
  MPI_Datatype far;
  CHECK_MPI(MPI_Type_vector(rows, 1, kPitch, element, &far));
  CHECK_MPI(MPI_Type_create_resized(far, 0, sizeof(Element), &matrix.column));
  CHECK_MPI(MPI_Type_commit(&matrix.column));
  CHECK_MPI(MPI_Type_free(&far));
  matrix.memory = calloc((size_t)rows * kPitch, sizeof(Element));
  return matrix;
}

static void free_matrix(Matrix* matrix) {
  MPI_Type_free(&matrix->column);
  free(matrix->memory);
}

/* The first `elements` have arrived, and nothing else was touched. */
static void check_matrix(const Matrix* matrix, int stream, int elements, const char* what) {
  int wrong = 0;
  for (int row = 0; row < matrix->rows; row++) {
    for (int column = 0; column < kPitch; column++) {
      const int number = column * matrix->rows + row;
      const bool is_there = column < kColumns && number < elements;
      const int64_t should = is_there ? word_of(stream, number) : 0;
      const Element* at = &matrix->memory[(size_t)row * kPitch + column];
      wrong += at->words[0] != should || at->words[1] != -should;
    }
  }
  CHECK(wrong == 0, "%s, %d rows: %d elements are not as they should be", what, matrix->rows,
        wrong);
}

/* `sent` elements for as many as the matrix has. */
static void one(int rows, int sent, int stream) {
  const int most = rows * kColumns;
  if (rank == 0) {
    Element* from = make_stream(stream, sent);
    CHECK_MPI(MPI_Send(from, sent, element, 1, kTag, comm));
    free(from);
    return;
  }
  Matrix matrix = make_matrix(rows);
  MPI_Status status;
  int count = -1;
  const int error = MPI_Recv(matrix.memory, kColumns, matrix.column, 0, kTag, comm, &status);
  if (sent > most) {
    CHECK_CLASS(error, MPI_ERR_TRUNCATE);
  } else {
    CHECK_MPI(error);
    CHECK_MPI(MPI_Get_elements(&status, matrix.column, &count));
    CHECK(count == 2 * sent, "%d basic elements have arrived, %d were sent", count, 2 * sent);
    check_matrix(&matrix, stream, sent, "a message");
  }
  free_matrix(&matrix);
}

/* Two are on their way at once, the second of which is sent before the first. */
static void two(int rows, int stream) {
  const int elements = rows * kColumns;
  MPI_Request requests[2];
  if (rank == 0) {
    Element* from[2] = {make_stream(stream, elements), make_stream(stream + 1, elements)};
    for (int i = 1; i >= 0; i--)
      CHECK_MPI(MPI_Isend(from[i], elements, element, 1, kTag + i, comm, &requests[i]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2; i++) free(from[i]);
    return;
  }
  Matrix matrices[2] = {make_matrix(rows), make_matrix(rows)};
  for (int i = 0; i < 2; i++)
    CHECK_MPI(MPI_Irecv(matrices[i].memory, kColumns, matrices[i].column, 0, kTag + i, comm,
                        &requests[i]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; i++) {
    check_matrix(&matrices[i], stream + i, elements, "two messages");
    free_matrix(&matrices[i]);
  }
}

int main(int argc, char** argv) {
  static const int kRows[] = {100, 128, 500, 1024, 3001, 9000};
  int stream = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  comm = check_comm(MPI_COMM_WORLD);
  CHECK_MPI(MPI_Type_contiguous(2, MPI_INT64_T, &element));
  CHECK_MPI(MPI_Type_commit(&element));
  for (size_t i = 0; i < sizeof(kRows) / sizeof(kRows[0]); i++) {
    const int rows = kRows[i], elements = rows * kColumns;
    const int sent[] = {elements, elements - 1, elements - 3 * rows - 5,
                        rows + 1, elements + 1, elements + 5 * rows};
    for (size_t k = 0; k < sizeof(sent) / sizeof(sent[0]); k++) one(rows, sent[k], ++stream);
    two(rows, stream += 2);
  }
  MPI_Type_free(&element);
  MPI_Comm_free(&comm);
  return check_finish();
}
