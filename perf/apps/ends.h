// Ends: what MPI is told of the messages of an exchange, by hand packing or by datatypes.
#ifndef PERF_APPS_ENDS_H_
#define PERF_APPS_ENDS_H_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/apps/application.h"
#include "perf/apps/exchange.h"
#include "perf/apps/face.h"
#include "perf/micro/mpi_type.h"

namespace apps {

/// What MPI is told of one end of a message.
struct End {
  void* memory;
  int count;
  MPI_Datatype type;
};

/// The ends of all messages, and what is done before and after.
class Ends {
 public:
  Ends(Stage& stage, bool by_hand) : stage_(stage), by_hand_(by_hand) {
    for (const Element element :
         {Element::kByte, Element::kDouble, Element::kComplex, Element::kParticle}) {
      elements_.push_back(types_.committed(element_type(element, types_)));
    }
    for (std::size_t k = 0; k < routes().size(); ++k) {
      out_.push_back(end_of(routes()[k].out, stage.outbox(k)));
      in_.push_back(end_of(routes()[k].in, stage.inbox(k)));
      there_.push_back(type_of(routes()[k].there));
    }
  }
  ~Ends() { release(); }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  const std::vector<Route>& routes() const { return stage_.application().routes(); }
  std::size_t messages() const { return routes().size(); }
  /// Whether the types of what leaves are made for each exchange.
  bool changes() const { return !by_hand_ && stage_.application().changes(); }
  const End& out(std::size_t k) const { return out_[k]; }
  const End& in(std::size_t k) const { return in_[k]; }
  /// Where a put goes in the receiver's window.
  MPI_Aint there_offset(std::size_t k) const {
    const Face& there = routes()[k].there;
    return by_hand_ && !there.one_run() ? stage_.inbox_offset(k) : there.offset;
  }
  End there(std::size_t k) const {
    return by_hand_ ? End{nullptr, in_[k].count, in_[k].type} : there_[k];
  }

  /// Before anything is started: types of lists as they are now.
  void begin() {
    if (!changes()) return;
    release();
    for (std::size_t k = 0; k < messages(); ++k) {
      const Face& face = routes()[k].out;
      MPI_Datatype type;
      MPI_Type_create_indexed_block(face.elements(), 1, face.list.data(), basic(face), &type);
      MPI_Type_commit(&type);
      made_.push_back(type);
      out_[k] = {stage_.memory() + face.offset, 1, type};
    }
  }
  /// Before message k leaves, or rows [first, last) of it.
  void prepare(std::size_t k) const { prepare(k, 0, routes()[k].out.rows); }
  void prepare(std::size_t k, int first, int last) const {
    const Face& face = routes()[k].out;
    if (!by_hand_ || face.one_run()) return;
    const std::int64_t row = face.columns * size_of(face.element);
    pack(face, first, last, stage_.memory(), stage_.outbox(k) + first * row);
  }
  /// When all have come.
  void finish() const {
    for (std::size_t k = 0; k < messages(); ++k) {
      const Face& face = routes()[k].in;
      if (by_hand_ && !face.one_run()) unpack(face, stage_.inbox(k), stage_.memory());
    }
  }

  /// One of `parts` alike of an end that is a face in memory, or packed.
  End part_of(const End& end, const Face& face, int parts) {
    if (parts == 1) return end;
    if (end.count > 1) return {end.memory, end.count / parts, end.type};
    return {end.memory, 1, types_.committed(part_type(face, parts, types_))};
  }

 private:
  MPI_Datatype basic(const Face& face) const {
    return elements_[static_cast<std::size_t>(face.element)];
  }
  End end_of(const Face& face, std::byte* box) {
    if (face.one_run() || !by_hand_) {
      End end = type_of(face);
      end.memory = stage_.memory() + face.offset;
      return end;
    }
    return {box, packed_count(face), packed_type(face)};
  }
  /// By hand structures are bytes, and complex numbers two doubles.
  MPI_Datatype packed_type(const Face& face) const {
    return face.element == Element::kParticle || face.element == Element::kByte ? MPI_BYTE
                                                                                : MPI_DOUBLE;
  }
  int packed_count(const Face& face) const {
    return static_cast<int>(face.bytes() / (packed_type(face) == MPI_BYTE ? 1 : sizeof(double)));
  }
  End type_of(const Face& face) {
    if (by_hand_) return {nullptr, packed_count(face), packed_type(face)};
    if (face.one_run()) return {nullptr, face.elements(), basic(face)};
    if (face.listed) return {nullptr, 1, MPI_DATATYPE_NULL};  // begin() makes it
    return {nullptr, 1, types_.committed(face_type(face, types_))};
  }
  void release() {
    for (MPI_Datatype& type : made_) MPI_Type_free(&type);
    made_.clear();
  }

  Stage& stage_;
  const bool by_hand_;
  micro::MpiTypes types_;
  std::vector<MPI_Datatype> elements_, made_;
  std::vector<End> out_, in_, there_;
};

}  // namespace apps

#endif  // PERF_APPS_ENDS_H_
