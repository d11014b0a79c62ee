/// @file
/// Aids for training: samples of a rank, exact evaluation, checkpoints, and work to do once per
/// host.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/gradient_sync.hpp>

namespace tutti::v0 {

/// Saves arrays. If the process or the machine stops at any time, load_checkpoint finds either this
/// checkpoint or the one before, whole. Collective. Rank 0 writes its arrays to `path` with
/// ".partial" after it, has the disk store them, and renames the file; the others wait. Not for
/// several calls at the same time with the same path.
/// @param path of the file, on rank 0; its folder exists.
/// @param arrays rank 0's arrays, of any types but opaque.
/// @param extra rank 0's bytes of the program's own, such as a SamplerState.
/// @param options only the timeout counts, which includes the wait for the disk. Throws the same
/// Error on all ranks: transport if the system reports an error, and invalid_argument for arrays
/// that cannot be saved. The communicator stays usable, and the old file is unchanged. But if the
/// system could not store the folder after the renaming, a stop of the machine may leave either
/// file.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays,
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Loads the arrays of save_checkpoint on all ranks, at any number of ranks. Collective. Rank 0
/// reads the file twice, to check it before any array is touched, and needs no memory for it.
/// @param path as for save_checkpoint; only rank 0 needs the file.
/// @param arrays the destination: as many, in the same order, and of the same names, types and
/// counts as were saved.
/// @param options only the timeout counts, which includes the wait for the disk.
/// @return the extra bytes, on all ranks. Throws the same Error on all ranks, which names the fault
/// and leaves the communicator usable: invalid_argument for a file that was cut short or changed,
/// or is of another program or byte order, and for other arrays; transport if the system reports an
/// error. Arrays are then unchanged, unless the file was changed, or the disk failed, between the
/// two readings.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(Communicator& world,
                                                               const std::filesystem::path& path,
                                                               std::span<const Parameter> arrays,
                                                               const Options& options = {});

/// Saves arrays as above, and with them data that is divided among ranks: arrays for the parts of
/// parameters that each rank owns, such as an optimizer's moments with GradientOptions::on_shard,
/// and the state of `sync`: the number of steps, an observed order, and the omitted part of
/// compression. Collective, between steps. The file has such arrays whole, in the order of
/// parameters. Rank 0 needs memory for a few MiB of them.
/// @param world the ranks of `sync`. @param path as above. @param arrays as above.
/// @param sync without GradientOptions::groups, since each rank of a group has parameters of its
/// own.
/// @param shards arrays in memory of the host, of any types but opaque, with an element for each
/// one of this rank's parts, one part after the other in the order of GradientSync::shards (see
/// ParameterShard::offset); equal on all ranks except data and count. In the file, the array of a
/// parameter has the name of the shard, a slash, and the parameter's name.
/// @param extra as above. @param options as above. Throws as above.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays, GradientSync& sync,
                               std::span<const Parameter> shards = {},
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Loads a file of the function above, at any number of ranks, and in any buckets. Each rank gets
/// its own parts. A run that continues with as many ranks and the same options has the same bits as
/// an uninterrupted one. The omitted part of compression returns to its rank. At another number of
/// ranks each gets an equal share of all of it, so that the mean (with GradientOptions::average,
/// otherwise the sum) is preserved; with another GradientOptions::compression than in the file it
/// is dropped. Collective, between steps, for example before the first. GradientSync::order() and
/// view may return other values afterwards.
/// @param path as above. @param arrays as above.
/// @param sync with parameters of the same names, types and counts.
/// @param shards the destination, as for the function above. @param options as above.
/// @return the extra bytes, on all ranks. Throws as above.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(
    Communicator& world, const std::filesystem::path& path, std::span<const Parameter> arrays,
    GradientSync& sync, std::span<const Parameter> shards = {}, const Options& options = {});

/// Gathers, for each parameter, one whole array from all ranks' parts. Collective.
/// @param world the ranks of `sync`. @param sync as for save_checkpoint.
/// @param shards one shard array, as for save_checkpoint.
/// @param whole an array for each parameter, in their order, of as many elements and of the type of
/// `shards`.
/// @param options only the timeout counts. Throws the same Error{invalid_argument} on all ranks for
/// other arrays, and Error.
TUTTI_API void gather_shards(Communicator& world, const GradientSync& sync, const Parameter& shards,
                             std::span<const Parameter> whole, const Options& options = {});

/// Copies this rank's parts out of whole arrays: the reverse of gather_shards, without a message.
/// @param sync as for save_checkpoint. @param whole as for gather_shards, equal on all ranks.
/// @param shards the destination, as for save_checkpoint. Throws Error{invalid_argument} for other
/// arrays.
TUTTI_API void extract_shards(const GradientSync& sync, std::span<const Parameter> whole,
                              const Parameter& shards);

}  // namespace tutti::v0
