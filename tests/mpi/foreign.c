/* foreign.c: strangers that connect to a rank's listening port and say all sorts of things.
 *
 * Rank 1 plays them; rank 0 must go on receiving rank 1's messages and those of rank 2, whom it has
 * never heard of before the strangers came.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/random.h"

enum { kTag = 1, kMaxPorts = 16, kSayings = 8, kLongest = 100000 };

static MPI_Comm comm;
static int rank;

/* One of this process's descriptors is that socket. */
static bool owns_socket(unsigned long inode) {
  char wanted[64], path[64], target[64];
  bool found = false;
  DIR* directory = opendir("/proc/self/fd");
  snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
  for (struct dirent* entry; directory && !found && (entry = readdir(directory));) {
    snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
    const ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length > 0) target[length] = '\0', found = strcmp(target, wanted) == 0;
  }
  if (directory) closedir(directory);
  return found;
}

/* IPv4 addresses at which this process listens; mpiexec's own socket may be among them, inherited.
 */
static int listening(struct sockaddr_in* addresses) {
  enum { kListen = 0x0A };
  char line[300];
  int count = 0;
  FILE* file = fopen("/proc/self/net/tcp", "r");
  while (file && count < kMaxPorts && fgets(line, sizeof(line), file)) {
    unsigned host, port, state;
    unsigned long inode;
    if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*d %*d %lu", &host, &port, &state,
               &inode) != 4) {
      continue;
    }
    if (state != kListen || !owns_socket(inode)) continue;
    memset(&addresses[count], 0, sizeof(addresses[count]));
    addresses[count].sin_family = AF_INET;
    addresses[count].sin_addr.s_addr = host ? host : htonl(INADDR_LOOPBACK);
    addresses[count++].sin_port = htons((uint16_t)port);
  }
  if (file) fclose(file);
  return count;
}

/* Those of `now` that are not in `before`. */
static int new_ones(const struct sockaddr_in* before, int before_count, struct sockaddr_in* now,
                    int now_count) {
  int kept = 0;
  for (int i = 0; i < now_count; i++) {
    bool old = false;
    for (int b = 0; b < before_count; b++) old = old || now[i].sin_port == before[b].sin_port;
    if (!old) now[kept++] = now[i];
  }
  return kept;
}

static int connect_to(const struct sockaddr_in* address) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const struct timeval patience = {2, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (connect(fd, (const struct sockaddr*)address, sizeof(*address)) == 0) return fd;
  close(fd);
  return -1;
}

/* What stranger number `kind` says; some say nothing. */
static size_t saying(int kind, char* text) {
  static const char kHttp[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Random random = random_from(77 + (uint64_t)kind);
  const size_t lengths[kSayings] = {0, sizeof(kHttp) - 1, 1, 16, 40, 272, 4096, kLongest};
  for (size_t i = 0; i < lengths[kind]; i++) {
    text[i] = (char)(kind % 2 ? random_below(&random, 256) : 0);
  }
  if (kind == 1) memcpy(text, kHttp, sizeof(kHttp) - 1);
  /* Looks like one of our own headers, and lies about everything else. */
  if (kind == 4) memcpy(text, "\xAD\x01\x02\xFF\xFF\xFF\xFF\x7F", 8);
  return lengths[kind];
}

/* Returns the sockets left open. */
static int speak(const struct sockaddr_in* addresses, int count, int* open_fds) {
  static char text[kLongest];
  int left = 0;
  for (int i = 0; i < count * kSayings; i++) {
    const int kind = i % kSayings, fd = connect_to(&addresses[i / kSayings]);
    CHECK(fd >= 0, "a stranger cannot connect to port %d", ntohs(addresses[i / kSayings].sin_port));
    if (fd < 0) continue;
    const size_t length = saying(kind, text);
    /* Being cut off is a fair answer. */
    if (length) (void)!send(fd, text, length, MSG_NOSIGNAL);
    if (kind % 2)
      close(fd);
    else
      open_fds[left++] = fd;
  }
  return left;
}

static void talk(int sender, uint32_t stamp) {
  Layout layout = layout_strided(50000, 2, 3);
  if (rank == sender || rank == 0) {
    Image image = layout_image(&layout, 1, stamp, rank == sender);
    if (rank == sender) {
      CHECK_MPI(MPI_Send(image.base, 1, layout.type, 0, kTag, comm));
    } else {
      CHECK_MPI(MPI_Recv(image.base, 1, layout.type, sender, kTag, comm, MPI_STATUS_IGNORE));
      CHECK_IMAGE(&image, stamp, "from rank %d", sender);
    }
    image_free(&image);
  }
  layout_free(&layout);
}

int main(int argc, char** argv) {
  struct sockaddr_in before[kMaxPorts], addresses[kMaxPorts];
  int open_fds[kMaxPorts * kSayings], count = 0, left = 0;
  const int before_count = listening(before);
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) {
    count = new_ones(before, before_count, addresses, listening(addresses));
    /* In shared memory and on an RDMA device there is no port that strangers could speak to. */
    const char* const fabric = getenv("MPIR_CVAR_CH4_MAD_FABRIC");
    const bool listens =
        fabric == NULL || (strcmp(fabric, "shm") != 0 && strcmp(fabric, "ofi:verbs") != 0);
    CHECK((count > 0) == listens, "this process listens at %d ports", count);
    MPI_Send(addresses, count * (int)sizeof(addresses[0]), MPI_BYTE, 1, kTag, comm);
  }
  if (rank == 1) {
    MPI_Status status;
    MPI_Recv(addresses, sizeof(addresses), MPI_BYTE, 0, kTag, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    left = speak(addresses, count / (int)sizeof(addresses[0]), open_fds);
  }
  talk(1, 11);
  talk(2, 12);
  for (int i = 0; i < left; i++) close(open_fds[i]);
  talk(1, 13);
  talk(2, 14);
  MPI_Comm_free(&comm);
  return check_finish();
}
