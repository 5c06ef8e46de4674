#pragma once
// Attributes: numbers of 64 bits, little-endian, and UTF-8 texts of variable length; single ones or
// one-dimensional arrays.

#include "miniapp/trace/hdf5_handle.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

/// An object with its place for messages.
struct Hdf5Object {
  hid_t id;
  Hdf5Place place;
};

// Writers: the attribute must not exist.
void write_attribute(const Hdf5Object& object, const char* name, std::int64_t value);
void write_attribute(const Hdf5Object& object, const char* name, std::uint64_t value);
void write_attribute(const Hdf5Object& object, const char* name, double value);
void write_attribute(const Hdf5Object& object, const char* name, std::string_view text);
void write_attribute(const Hdf5Object& object, const char* name, const std::vector<std::uint64_t>& values);
void write_attribute(const Hdf5Object& object, const char* name, const std::vector<double>& values);
void write_attribute(const Hdf5Object& object, const char* name, const std::vector<std::string>& texts);

bool has_attribute(const Hdf5Object& object, const char* name);

// Readers: throw RuntimeError that names file, object and attribute if it is missing or of another type or
// shape.
std::int64_t read_int64(const Hdf5Object& object, const char* name);
std::uint64_t read_uint64(const Hdf5Object& object, const char* name);
double read_double(const Hdf5Object& object, const char* name);
std::string read_text(const Hdf5Object& object, const char* name);
std::vector<std::uint64_t> read_uint64s(const Hdf5Object& object, const char* name);
std::vector<double> read_doubles(const Hdf5Object& object, const char* name);
std::vector<std::string> read_texts(const Hdf5Object& object, const char* name);

}  // namespace minigift
