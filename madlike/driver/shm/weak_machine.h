// WeakMachine: for tests, a machine of a few words and threads whose every execution is tried.
//
// It is as weak as C++ allows for what a queue needs: a load may see any store that its thread has
// not yet seen overwritten; what a thread knows travels with release stores to acquire loads;
// fences of sequential consistency have one order.  (What it does not have are loads that see
// stores which their own thread's later stores cause; no machine does that with acquire loads.)
// Plain accesses that are not ordered with others are races, which end the search.
//
// A thread is a function of a Thread, which it asks for every access.  To move one by one access it
// is called anew and given the results it had before: so a thread must not depend on anything else.
#ifndef MADLIKE_DRIVER_SHM_WEAK_MACHINE_H_
#define MADLIKE_DRIVER_SHM_WEAK_MACHINE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mad {

template <std::size_t kThreads>
class WeakMachineOf {
 public:
  static constexpr std::size_t kWords = 21;

  /// What a thread knows: of each word the number of the latest store it has seen, of each thread
  /// how many of its accesses came before.
  struct View {
    std::array<std::uint8_t, kWords> seen{};
    std::array<std::uint8_t, kThreads> clock{};
    void join(const View& other) {
      for (std::size_t i = 0; i < kWords; ++i) seen[i] = std::max(seen[i], other.seen[i]);
      for (std::size_t i = 0; i < kThreads; ++i) clock[i] = std::max(clock[i], other.clock[i]);
    }
  };
  struct Store {
    std::uint64_t value = 0;
    View view;  // what an acquire load of it learns
  };
  /// A word's stores in order, and the last accesses of each thread by kind.
  struct Word {
    std::vector<Store> stores{Store{}};
    std::array<std::uint8_t, kThreads> plain_write{}, plain_read{}, write{}, read{};
  };
  struct State {
    std::array<Word, kWords> words;
    std::array<View, kThreads> views, released, loaded;
    View fences;
    std::array<std::vector<std::uint64_t>, kThreads> results;
    std::array<bool, kThreads> ended{};
  };

  /// Ends a call of a thread's function: its next access is not to be made, or not possible now.
  struct Pause {};
  struct Wrong {
    std::string what;
  };

  class Thread {
   public:
    std::uint64_t load(std::size_t word, bool acquire) {
      return access([&] { return do_load(word, acquire); });
    }
    void store(std::size_t word, std::uint64_t value, bool release) {
      (void)access([&] { return do_store(word, value, release); });
    }
    std::uint64_t exchange(std::size_t word, std::uint64_t value) {
      return access([&] { return do_exchange(word, value); });
    }
    void fence() {
      (void)access([&] { return do_fence(); });
    }
    std::uint64_t read(std::size_t word) {
      return access([&] { return do_read(word); });
    }
    void write(std::size_t word, std::uint64_t value) {
      (void)access([&] { return do_write(word, value); });
    }
    /// Goes on when there is a store to one of these words that this thread has not seen: it sees
    /// them all, and learns nothing else.
    void await_news(std::initializer_list<std::size_t> words) {
      (void)access([&] { return do_await(words); });
    }
    /// Waits until the word is not 0 and makes it 0, as the system does with what it wakes for.
    void take_when_set(std::size_t word) {
      (void)access([&] {
        if (state_.words[word].stores.back().value == 0) throw Pause{};
        return do_exchange(word, 0);
      });
    }
    static void expect(bool holds, const char* what) {
      if (!holds) throw Wrong{what};
    }

   private:
    friend class WeakMachineOf;
    Thread(State& state, std::size_t number, std::size_t choice)
        : state_(state), number_(number), choice_(choice) {}

    template <typename Do>
    std::uint64_t access(const Do& act) {
      std::vector<std::uint64_t>& results = state_.results[number_];
      if (next_ < results.size()) return results[next_++];
      if (moved_) throw Pause{};
      moved_ = true;
      ++view().clock[number_];
      results.push_back(act());
      ++next_;
      return results.back();
    }
    View& view() { return state_.views[number_]; }
    std::uint8_t now() { return view().clock[number_]; }
    void check(const std::array<std::uint8_t, kThreads>& accesses, const char* what) {
      for (std::size_t i = 0; i < kThreads; ++i) {
        if (i != number_ && accesses[i] > view().clock[i]) throw Wrong{what};
      }
    }
    std::uint64_t do_load(std::size_t at, bool acquire) {
      Word& word = state_.words[at];
      check(word.plain_write, "a load races with a plain write");
      word.read[number_] = now();
      const std::size_t oldest = view().seen[at];
      choices_ = word.stores.size() - oldest;
      // The latest first: what is likely is tried first.
      const std::size_t chosen = word.stores.size() - 1 - std::min(choice_, choices_ - 1);
      const Store& store = word.stores[chosen];
      view().seen[at] = static_cast<std::uint8_t>(chosen);
      (acquire ? view() : state_.loaded[number_]).join(store.view);
      return store.value;
    }
    std::uint64_t do_store(std::size_t at, std::uint64_t value, bool release) {
      Word& word = state_.words[at];
      check(word.plain_write, "a store races with a plain write");
      check(word.plain_read, "a store races with a plain read");
      word.write[number_] = now();
      view().seen[at] = static_cast<std::uint8_t>(word.stores.size());
      word.stores.push_back({value, release ? view() : state_.released[number_]});
      return 0;
    }
    std::uint64_t do_exchange(std::size_t at, std::uint64_t value) {
      Word& word = state_.words[at];
      const Store last = word.stores.back();
      view().join(last.view);
      (void)do_store(at, value, true);
      return last.value;
    }
    std::uint64_t do_fence() {
      view().join(state_.loaded[number_]);
      view().join(state_.fences);
      state_.fences = view();
      state_.released[number_] = view();
      return 0;
    }
    std::uint64_t do_read(std::size_t at) {
      Word& word = state_.words[at];
      check(word.plain_write, "a plain read races with a plain write");
      check(word.write, "a plain read races with a store");
      word.plain_read[number_] = now();
      return word.stores.back().value;
    }
    std::uint64_t do_write(std::size_t at, std::uint64_t value) {
      Word& word = state_.words[at];
      check(word.plain_write, "a plain write races with a plain write");
      check(word.plain_read, "a plain write races with a plain read");
      check(word.write, "a plain write races with a store");
      check(word.read, "a plain write races with a load");
      word.plain_write[number_] = now();
      view().seen[at] = static_cast<std::uint8_t>(word.stores.size());
      word.stores.push_back({value, View()});
      return 0;
    }
    std::uint64_t do_await(std::initializer_list<std::size_t> words) {
      bool news = false;
      for (const std::size_t at : words) {
        const std::size_t latest = state_.words[at].stores.size() - 1;
        news = news || latest > view().seen[at];
        view().seen[at] = static_cast<std::uint8_t>(latest);
      }
      if (!news) throw Pause{};
      return 0;
    }

    State& state_;
    std::size_t number_, choice_;
    std::size_t next_ = 0, choices_ = 1;
    bool moved_ = false;
  };

  using Code = std::function<void(Thread&)>;

  /// Tries every execution; "": nothing is wrong in any.
  std::string search(const std::array<Code, kThreads>& code) {
    code_ = &code;
    visited_.clear();
    ended_ = 0;
    try {
      explore(State());
    } catch (const Wrong& wrong) {
      return wrong.what;
    }
    return "";
  }
  std::size_t states() const { return visited_.size(); }
  /// In which all threads came to their end.
  std::size_t ended() const { return ended_; }

 private:
  void explore(const State& state) {
    if (!visited_.insert(key(state)).second) return;
    if (std::all_of(state.ended.begin(), state.ended.end(), [](bool ended) { return ended; })) {
      ++ended_;
      return;
    }
    bool moved = false;
    for (std::size_t number = 0; number < kThreads; ++number) {
      if (state.ended[number]) continue;
      for (std::size_t choice = 0, choices = 1; choice < choices; ++choice) {
        State next = state;
        Thread thread(next, number, choice);
        try {
          (*code_)[number](thread);
          next.ended[number] = true;
        } catch (const Pause&) {
        }
        choices = thread.choices_;
        if (next.results[number].size() == state.results[number].size() && !next.ended[number]) {
          continue;  // it cannot go on now
        }
        moved = true;
        explore(next);
      }
    }
    if (!moved) throw Wrong{"both sides wait for ever"};
  }

  static std::string key(const State& state) {
    std::string key;
    const auto add = [&key](const void* bytes, std::size_t size) {
      key.append(static_cast<const char*>(bytes), size);
    };
    for (const Word& word : state.words) {
      const std::size_t count = word.stores.size();
      add(&count, 1);
      for (const Store& store : word.stores) {
        add(&store.value, sizeof(store.value));
        add(&store.view, sizeof(store.view));
      }
    }
    for (std::size_t i = 0; i < kThreads; ++i) {
      add(&state.views[i], sizeof(View));
      add(&state.loaded[i], sizeof(View));
      add(&state.ended[i], 1);
      const std::size_t count = state.results[i].size();
      add(&count, sizeof(count));
      add(state.results[i].data(), count * sizeof(std::uint64_t));
    }
    add(&state.fences, sizeof(View));
    return key;
  }

  const std::array<Code, kThreads>* code_ = nullptr;
  std::unordered_set<std::string> visited_;
  std::size_t ended_ = 0;
};

using WeakMachine = WeakMachineOf<2>;

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_WEAK_MACHINE_H_
