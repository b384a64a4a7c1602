// Fifo: a first-in first-out list through a link inside the elements.  It owns nothing and
// allocates nothing.
#ifndef MADLIKE_MESSAGE_FIFO_H_
#define MADLIKE_MESSAGE_FIFO_H_

namespace mad {

/// `Link::next(element)` is a reference to the element's pointer to the next one.
template <typename T, typename Link>
class Fifo {
 public:
  bool empty() const { return first_ == nullptr; }
  T* front() const { return first_; }

  void push(T* element) {
    Link::next(*element) = nullptr;
    if (first_ == nullptr) {
      first_ = element;
    } else {
      Link::next(*last_) = element;
    }
    last_ = element;
  }

  T* pop() {
    T* const element = first_;
    first_ = Link::next(*element);
    Link::next(*element) = nullptr;
    return element;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_FIFO_H_
