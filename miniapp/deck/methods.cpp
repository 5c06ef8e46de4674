#include "miniapp/deck/methods.hpp"

#include "miniapp/deck/read_section.hpp"

#include <algorithm>

namespace minigift {
namespace {

class Resolver {
 public:
  Resolver(Deck& deck, const std::vector<MethodTables>& tables, std::span<const MethodDeck> built_in)
      : deck_(deck), tables_(tables), built_in_(built_in) {}

  /// `location` is where the name was used. `chain` are the names whose bases led here.
  MethodDeck resolve(const std::string& name, const std::string& location, std::vector<std::string> chain) {
    const MethodTables* tables = tables_of(name);
    const RawEntry* base = nullptr;
    if (tables != nullptr) {
      for (const RawTable* table : tables->tables) {
        if (const RawEntry* entry = find(*table, "base")) base = entry;
      }
    }
    MethodDeck method;
    const auto* base_name = base == nullptr ? nullptr : std::get_if<std::string>(&base->value.value);
    if (base_name != nullptr && *base_name != name) {
      chain.push_back(name);
      require_usage(std::find(chain.begin(), chain.end(), *base_name) == chain.end(),
                    "{}: exchange.{}.base = {} leads back to itself", base->location, name, base->value.text);
      method = resolve(*base_name, base->location, chain);
    } else {
      const MethodDeck* found = built_in_method(name);
      if (found == nullptr) refuse(name, location, tables);
      method = *found;
      method.base = name;
    }
    const std::string root = method.base;
    if (tables != nullptr) {
      for (const RawTable* table : tables->tables)
        read_section(*table, "exchange." + name, method, deck_.origins);
    }
    method.name = name;
    method.base = root;  // a base that is a table itself has been taken in already
    return method;
  }

 private:
  const MethodTables* tables_of(const std::string& name) const {
    for (const MethodTables& tables : tables_) {
      if (tables.name == name) return &tables;
    }
    return nullptr;
  }
  const MethodDeck* built_in_method(const std::string& name) const {
    for (const MethodDeck& method : built_in_) {
      if (method.name == name) return &method;
    }
    return nullptr;
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& location,
                           const MethodTables* tables) const {
    std::vector<std::string> names;
    std::string list;
    for (const MethodDeck& method : built_in_) {
      names.push_back(method.name);
      list += (list.empty() ? "" : ", ") + method.name;
    }
    if (tables != nullptr) {
      throw UsageError(fmt::format("{}: [exchange.{}] is a new method and needs a base; allowed: {}{}",
                                   tables->location, name, list, nearest_name(name, names)));
    }
    for (const MethodTables& other : tables_)
      names.push_back(other.name);
    throw UsageError(fmt::format("{}: unknown method '{}'; built in: {}{}", location, name, list,
                                 nearest_name(name, names)));
  }

  Deck& deck_;
  const std::vector<MethodTables>& tables_;
  std::span<const MethodDeck> built_in_;
};

}  // namespace

void resolve_methods(Deck& deck, const std::vector<MethodTables>& tables,
                     std::span<const MethodDeck> built_in) {
  Resolver resolver(deck, tables, built_in);
  for (const MethodTables& method : tables)
    resolver.resolve(method.name, method.location, {});

  const auto origin = deck.origins.find("exchange.methods");
  const std::string location = origin == deck.origins.end() ? "exchange.methods" : origin->second;
  const std::vector<std::string>& names = deck.exchange.methods;
  require_usage(!names.empty(), "{}: exchange.methods names no method", location);
  deck.methods.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    require_usage(std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) ==
                      names.begin() + static_cast<std::ptrdiff_t>(i),
                  "{}: exchange.methods names '{}' twice", location, names[i]);
    MethodDeck method = resolver.resolve(names[i], location, {});
    // 0 stands for the value shared by all methods.
    if (method.refresh_period == 0) method.refresh_period = deck.exchange.refresh_period;
    if (method.sketch_window == 0) method.sketch_window = deck.exchange.sketch_window;
    if (method.guard == 0) method.guard = deck.exchange.guard;
    deck.methods.push_back(std::move(method));
  }
}

}  // namespace minigift
