// Exit statuses of the program; the list is part of the contract (README, man page).
#pragma once

namespace gradsync::exit_status {

inline constexpr int kDone = 0;
inline constexpr int kUsage = 2;
inline constexpr int kNothingUsable = 3;
inline constexpr int kSelfCheckFailed = 4;
inline constexpr int kFinding = 10;       // or a regression of compare --gate
inline constexpr int kInconclusive = 11;  // compare --gate
inline constexpr int kInPart = 20;        // irq: applied in part
inline constexpr int kNotPermitted = 21;
inline constexpr int kReverted = 22;  // by another owner
inline constexpr int kDoctorFailed = 125;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;

}  // namespace gradsync::exit_status
