#include "datatype_path/typed/typed_cursor.h"

namespace mad {
namespace {

std::uint64_t times(std::uint64_t n, std::int64_t stride) {
  return n * static_cast<std::uint64_t>(stride);
}

}  // namespace

TypedCursor::TypedCursor(const TypedProgram& program, std::uint64_t count)
    : program_(&program), total_(count * program.elements()) {
  const TypedNode& root = program.node(program.root());
  if (root.run && total_ > 0) whole_ = root.run->repeated(count, program.type().extent());
  frames_.reserve(program.depth());
  seek(0);
}

void TypedCursor::seek(std::uint64_t element) {
  position_ = element;
  frames_.clear();
  if (element == total_) {
    run_ = {};
  } else if (whole_) {
    run_ = whole_->from(element);
  } else {
    instance_ = element / program_->elements();
    enter(program_->root(), times(instance_, program_->type().extent()),
          element % program_->elements());
  }
}

void TypedCursor::advance(std::uint64_t elements) {
  position_ += elements;
  if (elements < run_.count) {
    run_ = run_.from(elements);
  } else {
    next_run();
  }
}

void TypedCursor::set_run(const TypedRun& run, std::uint64_t offset) {
  run_ = run;
  run_.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(run.offset) + offset);
}

std::uint64_t TypedCursor::block_offset(const Frame& frame) const {
  return frame.offset + static_cast<std::uint64_t>(frame.node->type->displacement(frame.block));
}

std::uint64_t TypedCursor::child_offset(const Frame& frame) const {
  return block_offset(frame) +
         times(frame.repetition, frame.node->type->child(frame.block).extent());
}

// Goes down to the run that holds `element` of the node.
void TypedCursor::enter(std::uint32_t index, std::uint64_t offset, std::uint64_t element) {
  while (true) {
    const TypedNode& node = program_->node(index);
    if (node.run) {
      set_run(node.run->from(element), offset);
      return;
    }
    // Mostly to the first child: no search, no division.
    const bool first = element == 0 && node.block_elements(0) > 0;
    const TypedNode::Place place = first ? TypedNode::Place{} : node.find(element);
    frames_.push_back({&node, offset, place.block, place.repetition});
    if (enter_block_run(place.element)) return;
    index = node.child(place.block);
    offset = child_offset(frames_.back());
    element = place.element;
  }
}

// If all of the innermost frame's block is one run: its rest, from `element` of the child on.
bool TypedCursor::enter_block_run(std::uint64_t element) {
  Frame& frame = frames_.back();
  const TypeDesc& type = *frame.node->type;
  const TypedNode& child = program_->node(frame.node->child(frame.block));
  if (!child.run) return false;
  const std::uint64_t length = type.blocklength(frame.block);
  const auto run = child.run->repeated(length, type.child(frame.block).extent());
  if (!run) return false;
  set_run(run->from(frame.repetition * child.elements() + element), block_offset(frame));
  frame.repetition = length - 1;
  return true;
}

// To the frame's next child that has elements; false if there is none.
bool TypedCursor::step(Frame& frame) {
  const TypedNode& node = *frame.node;
  if (++frame.repetition < node.type->blocklength(frame.block)) return true;
  frame.repetition = 0;
  do {
    if (++frame.block == node.blocks()) return false;
  } while (node.block_elements(frame.block) == 0);
  return true;
}

void TypedCursor::next_run() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (step(frame)) {
      if (!enter_block_run(0)) enter(frame.node->child(frame.block), child_offset(frame), 0);
      return;
    }
    frames_.pop_back();
  }
  if (position_ == total_) {
    run_ = {};
  } else {
    ++instance_;
    enter(program_->root(), times(instance_, program_->type().extent()), 0);
  }
}

}  // namespace mad
