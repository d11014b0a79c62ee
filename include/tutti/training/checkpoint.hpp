/// @file
/// Checkpoints: arrays in a file that is always whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/gradient_sync.hpp>

namespace tutti::v0 {

/// Saves arrays, so that load_checkpoint finds either them or what was there before, whole, also
/// where the process or the machine stops at any time. Collective. Rank 0 writes its arrays to
/// `path` with ".partial" behind it, has the disk store them, and renames the file; others wait.
/// Not for several calls at the same time with the same path.
/// @param world whose ranks take part. @param path of the file; its folder exists. Rank 0's
/// counts. @param arrays what to save, of any types but opaque; rank 0's count. @param extra bytes
/// of the program's own, such as a SamplerState; rank 0's count. @param options of which the
/// timeout counts, in which the others wait for the disk.
/// Throws the same Error on all ranks: transport if the system reported an error, and
/// invalid_argument for arrays that cannot be saved. The communicator stays usable then, and the
/// old file is as it was; but where the system could not store the folder, after the renaming,
/// either file may be found after a stop of the machine.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays,
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Gives all ranks the arrays that save_checkpoint saved, at whatever number of ranks. Collective.
/// Rank 0 reads the file twice, to check it before any array is touched, and needs no memory for
/// it.
/// @param world whose ranks take part. @param path as of save_checkpoint; only rank 0 needs the
/// file. @param arrays where to load; as many, in the same order, and of the same names, types and
/// counts as were saved. @param options of which the timeout counts, in which the others wait for
/// the disk. @return the extra bytes, on all ranks.
/// Throws the same Error on all ranks, which says what is wrong and leaves the communicator usable:
/// invalid_argument for a file that was cut short or changed, or is of another program or byte
/// order, and for other arrays; transport if the system reported an error. Arrays are as they
/// were then, unless the file was changed, or the disk failed, between the two readings.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(Communicator& world,
                                                               const std::filesystem::path& path,
                                                               std::span<const Parameter> arrays,
                                                               const Options& options = {});

/// Saves arrays as above, and with them what is divided among ranks: arrays with the parts of
/// parameters that each rank owns, such as an optimizer's moments with GradientOptions::on_shard,
/// and what `sync` keeps from step to step: the number of steps, the order that it observed, and
/// what its compression has left out so far. Collective, between steps. In the file such arrays are
/// whole, and in the order of parameters. Rank 0 needs memory for a few MiB of them.
/// @param world whose ranks take part, those of `sync`. @param path as above. @param arrays as
/// above. @param sync without GradientOptions::groups, of whose parameters each rank has its own.
/// @param shards arrays in memory of the host, of any types but opaque, with an element for each
/// one of this rank's parts, one part behind the other as GradientSync::shards lists them (see
/// ParameterShard::offset); equal on all ranks but for data and count. In the file, the array of a
/// parameter has the name of the shard, a slash, and the parameter's name.
/// @param extra as above. @param options as above. Throws as above.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays, GradientSync& sync,
                               std::span<const Parameter> shards = {},
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Gives ranks what the function above saved, at whatever number of ranks, and in whatever buckets.
/// Each rank gets its own parts. A run that goes on with as many ranks and the same options has the
/// same bits as one that was not interrupted. What compression has left out goes to the rank that
/// has left it out; at another number of ranks each gets an equal share of all of it, so that their
/// mean (with GradientOptions::average, else their sum) goes on; and with another
/// GradientOptions::compression than that of the file nothing was left out. Collective, between
/// steps, such as before the first. What GradientSync::order() and view returned is asked again
/// afterwards.
/// @param world as above. @param path as above. @param arrays as above. @param sync of parameters
/// of the same names, types and counts. @param shards as of the function above, where to load.
/// @param options as above. @return the extra bytes, on all ranks. Throws as above.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(
    Communicator& world, const std::filesystem::path& path, std::span<const Parameter> arrays,
    GradientSync& sync, std::span<const Parameter> shards = {}, const Options& options = {});

/// Gives all ranks a whole array of what each has for its parts of parameters. Collective.
/// @param world whose ranks take part, those of `sync`. @param sync as of save_checkpoint. @param
/// shards as one of save_checkpoint. @param whole an array for each parameter, in their order, of
/// as many elements and of the type of `shards`. @param options of which the timeout counts.
/// Throws the same Error{invalid_argument} on all ranks for other arrays, and Error.
TUTTI_API void gather_shards(Communicator& world, const GradientSync& sync, const Parameter& shards,
                             std::span<const Parameter> whole, const Options& options = {});

/// The reverse of gather_shards, without a message. @param sync as of save_checkpoint. @param whole
/// as of gather_shards, equal on all ranks. @param shards the destination of this rank's parts, as
/// of save_checkpoint. Throws Error{invalid_argument} for other arrays.
TUTTI_API void extract_shards(const GradientSync& sync, std::span<const Parameter> whole,
                              const Parameter& shards);

}  // namespace tutti::v0
