/// @file
/// A call report: a CallStatus as bytes in the text of a control message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tutti/spi/call_status.hpp>

namespace tutti::runtime {

/// @return all of the status except CallStatus::begun, at most kMostControlText bytes; longer words
/// are cut.
[[nodiscard]] std::string encode_call_report(const CallStatus& status);
/// @param bytes of encode_call_report. Throws Error{transport} if they are malformed.
[[nodiscard]] CallStatus decode_call_report(std::uint64_t begun, std::string_view bytes);

}  // namespace tutti::runtime
