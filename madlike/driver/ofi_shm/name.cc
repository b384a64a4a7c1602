#include "madlike/driver/ofi_shm/name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace mad {
namespace {

bool is_ours_alone(int object) {
  struct stat status {};
  return fstat(object, &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

TcpSocket open_shared(const std::string& name) {
  TcpSocket object(shm_open(name.c_str(), O_RDWR, 0));
  if (object && !is_ours_alone(object.fd())) {
    object.close();
    errno = EACCES;
  }
  return object;
}

Status not_opened(const std::string& name, int error) {
  if (is_lack(error)) return tcp_dial_status("opening /dev/shm/" + name, error);
  return {StatusCode::kUnreachable, "there is no /dev/shm/" + name + " of it here"};
}

int reserve_shared(int object, std::size_t bytes) {
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(object, 0, static_cast<off_t>(bytes));
  return error;
}

}  // namespace mad
