// Hooked: a table of a libfabric object's calls of which some are ours.
//
// libfabric's objects point to their tables of calls, so that a call can be watched, changed or
// refused without an object of one's own in between.
#ifndef TESTS_STRICT_HOOKED_H_
#define TESTS_STRICT_HOOKED_H_

#include <map>
#include <memory>

namespace mad::strict {

/// The table stands first: its place tells the rest.
template <typename Calls, typename Owner>
struct Hooked {
  Calls calls;
  Calls* real;
  Owner* owner;

  static const Hooked& of(const Calls* calls) { return *reinterpret_cast<const Hooked*>(calls); }
};

/// The tables of one owner, one for each table of the provider's.
template <typename Owner>
class HookedTables {
 public:
  explicit HookedTables(Owner* owner) : owner_(owner) {}

  /// Puts a copy of the table at `place`; null: it is one of ours already.
  template <typename Calls>
  Calls* hook(Calls*& place) {
    auto& kept = tables_[place];
    const bool known = kept != nullptr;
    if (!known)
      kept = std::make_shared<Hooked<Calls, Owner>>(Hooked<Calls, Owner>{*place, place, owner_});
    place = &static_cast<Hooked<Calls, Owner>*>(kept.get())->calls;
    return known ? nullptr : place;
  }

 private:
  Owner* owner_;
  std::map<void*, std::shared_ptr<void>> tables_;
};

}  // namespace mad::strict

#endif  // TESTS_STRICT_HOOKED_H_
