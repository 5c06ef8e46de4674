#include "miniapp/trace/hdf5_file.hpp"

#include <algorithm>

namespace minigift {
namespace {

/// The format that HDF5 1.10 and newer read. Its chunk indices make an unfiltered array one piece of the
/// file.
Hdf5Handle access_list(const std::string& path) {
  silence_hdf5();
  Hdf5Handle list(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate", {path}), H5Pclose);
  check_hdf5(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "H5Pset_libver_bounds",
             {path});
  return list;
}

}  // namespace

Hdf5Handle create_parallel_file(const std::string& path, MPI_Comm communicator,
                                std::int64_t alignment_bytes) {
  const Hdf5Handle list = access_list(path);
  const Hdf5Place place{path};
  check_hdf5(H5Pset_fapl_mpio(list.get(), communicator, MPI_INFO_NULL), "H5Pset_fapl_mpio", place);
  // All ranks make the same changes to the metadata; one write of them all is enough.
  check_hdf5(H5Pset_coll_metadata_write(list.get(), true), "H5Pset_coll_metadata_write", place);
  check_hdf5(H5Pset_all_coll_metadata_ops(list.get(), true), "H5Pset_all_coll_metadata_ops", place);
  constexpr hsize_t small_object = 64 * 1024;
  check_hdf5(H5Pset_alignment(list.get(), small_object,
                              static_cast<hsize_t>(std::max<std::int64_t>(alignment_bytes, 1))),
             "H5Pset_alignment", place);
  constexpr hsize_t metadata_block = 32 * 1024;
  check_hdf5(H5Pset_meta_block_size(list.get(), metadata_block), "H5Pset_meta_block_size", place);
  return {check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, list.get()), "H5Fcreate", place),
          H5Fclose, Unwinding::leave};
}

Hdf5Handle open_serial_file(const std::string& path, Hdf5Access access) {
  const Hdf5Handle list = access_list(path);
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 12 && H5_VERS_RELEASE == 0)
  // Some file systems of clusters have no locks; HDF5 would refuse to open a file there.
  check_hdf5(H5Pset_file_locking(list.get(), true, true), "H5Pset_file_locking", {path});
#endif
  const unsigned flags = access == Hdf5Access::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR;
  return {check_hdf5(H5Fopen(path.c_str(), flags, list.get()), "H5Fopen", {path}), H5Fclose};
}

}  // namespace minigift
