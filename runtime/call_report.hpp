/// @file
/// A call_report: what a rank says of its calls when another one asks (CallStatus), as bytes in
/// the text of a control message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tutti/spi/call_status.hpp>

namespace tutti::runtime {

/// @param told what a rank says. @return all of it but CallStatus::begun, no longer than
/// kMostControlText; words that are too long are cut.
[[nodiscard]] std::string encode_call_report(const CallStatus& told);
/// @param begun calls. @param bytes of encode_call_report. @return what was told. Throws
/// Error{transport} if the bytes are none of ours.
[[nodiscard]] CallStatus decode_call_report(std::uint64_t begun, std::string_view bytes);

}  // namespace tutti::runtime
