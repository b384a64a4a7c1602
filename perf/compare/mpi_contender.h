// What the contenders that are MPI programs have in common: ranks, each on a processor of its own
// while there are as many, that do what their pipes tell them until there is no more.
#ifndef PERF_COMPARE_MPI_CONTENDER_H_
#define PERF_COMPARE_MPI_CONTENDER_H_

#include <mpi.h>

#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/compare/channel.h"

namespace compare {

/// What any rank found wrong is a std::runtime_error on all; empty: nothing.
inline void agree(const std::string& wrong) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<std::array<char, 120>> texts(static_cast<std::size_t>(size));
  std::array<char, 120> mine{};
  std::snprintf(mine.data(), mine.size(), "%s", wrong.c_str());
  MPI_Allgather(mine.data(), mine.size(), MPI_CHAR, texts.data(), mine.size(), MPI_CHAR,
                MPI_COMM_WORLD);
  for (const auto& text : texts) {
    if (text[0] != '\0') throw std::runtime_error(text.data());
  }
}

/// main() of a contender, whose argument is the prefix of its pipes.  `Player` is made of a rank,
/// and has run(), which takes a Command and returns a Timing, or throws std::runtime_error with
/// what was wrong, or Lacking, on all ranks.  There are `least` to `most` ranks.
template <typename Player>
int contend(int argc, char** argv, int least = 2, int most = 2) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int code = 2;
  if (argc != 2 || size < least || size > most) {
    if (rank == 0) {
      std::fprintf(stderr, "contender: needs %d to %d ranks and the prefix of its pipes\n", least,
                   most);
    }
  } else {
    stay_on_processor(rank);
    try {
      Channel channel(argv[1], rank);
      Player player(rank);
      Command command;
      while (channel.next(&command)) {
        try {
          channel.answer(player.run(command));
        } catch (const Lacking& lacking) {
          channel.decline(lacking.what());
        } catch (const std::runtime_error& error) {
          channel.complain(error.what());
        }
      }
      code = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "contender: %s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return code;
}

}  // namespace compare

#endif  // PERF_COMPARE_MPI_CONTENDER_H_
