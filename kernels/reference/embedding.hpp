#pragma once
// Serial oracle for the token embedding.

#include <cstdint>
#include <vector>

namespace minigift::reference {

/// out(R,C)[r] = table(V,C)[tokens[r]].
inline std::vector<double> embedding_forward(const std::vector<std::int32_t>& tokens, std::int64_t C,
                                             const std::vector<double>& table) {
  std::vector<double> out;
  out.reserve(tokens.size() * static_cast<std::size_t>(C));
  for (const std::int32_t token : tokens)
    for (std::int64_t c = 0; c < C; ++c)
      out.push_back(table[static_cast<std::size_t>(token * C + c)]);
  return out;
}

/// d_table(V,C) += sum over the rows of each token.
inline void embedding_backward(const std::vector<std::int32_t>& tokens, std::int64_t C,
                               const std::vector<double>& d_out, std::vector<double>& d_table) {
  for (std::size_t r = 0; r < tokens.size(); ++r)
    for (std::int64_t c = 0; c < C; ++c)
      d_table[static_cast<std::size_t>(tokens[r] * C + c)] +=
          d_out[r * static_cast<std::size_t>(C) + static_cast<std::size_t>(c)];
}

}  // namespace minigift::reference
