// Inner loops of the CPU loads, each compiled for several instruction sets; the best that this CPU has is taken at run
// time (Highway). One thread each; callers cut the work into parts.
//
// Magnitudes are compared as integers: the bits of a float without its sign order like its magnitude, with infinity and
// then NaN above every number, and they need no care for denormals.
#pragma once

#include <cstdint>

namespace gradsync::kernels {

inline constexpr std::uint32_t kMagnitude = 0x7fffffff;
inline constexpr std::uint32_t kInfinity = 0x7f800000;
// What compact() may write behind the room that it is given.
inline constexpr std::int64_t kSlack = 64;

// "AVX3_DL", …: what runs here.
const char* instruction_set();

std::uint32_t sum_of_bits(const float* x, std::int64_t n);                 // reads everything; for bandwidths
double sum_of_magnitudes(const float* x, const float* y, std::int64_t n);  // of x + y; y may be null
void add(const float* x, const float* y, float* sum, std::int64_t n);
// velocity = momentum × velocity + gradient, parameters += velocity
void apply_momentum(const float* gradient, float momentum, float* velocity, float* parameters, std::int64_t n);
bool all_finite(const float* x, std::int64_t n);
std::int64_t count_at_least(const float* x, std::int64_t n, std::uint32_t magnitude);

// Entries of x[begin, end) whose magnitude is at least `magnitude`, in order: their indices and values. Stops when more
// than `room` were found and returns -1. `indices` and `values` have room for `room` + kSlack entries.
std::int64_t compact(const float* x, std::int64_t begin, std::int64_t end, std::uint32_t magnitude,
                     std::uint32_t* indices, float* values, std::int64_t room);

// Adds to bins[magnitude >> shift].
void histogram(const float* x, std::int64_t n, int shift, std::uint32_t* bins);
// The same of those with magnitude >> known == prefix, by the bits from `known` down to `shift`.
void histogram_within(const float* x, std::int64_t n, int known, std::uint32_t prefix, int shift, std::uint32_t* bins);

// bit i of `bits` = x[i] + y[i] < 0 (y may be null), least significant first; the last byte is filled up with zeros.
// Where y is given it becomes the residual x + y − (±scale). n a multiple of 64, or the end of the vector.
void pack_signs(const float* x, float* y, std::int64_t n, float scale, std::uint8_t* bits);
// sum[i] += ±scale
void add_signs(const std::uint8_t* bits, std::int64_t n, float scale, float* sum);

// Round to nearest, ties to even. Too large becomes infinity, NaN stays NaN. True when everything written is finite.
bool to_fp16(const float* x, std::int64_t n, std::uint16_t* out);
bool to_bf16(const float* x, std::int64_t n, std::uint16_t* out);
void add_fp16(const std::uint16_t* x, std::int64_t n, float* sum);
void add_bf16(const std::uint16_t* x, std::int64_t n, float* sum);

// One block of fp8 e4m3: codes of x / scale, where scale = largest magnitude / 448; returns the scale (NaN: not finite).
float to_fp8_block(const float* x, std::int64_t n, std::uint8_t* codes);
void add_fp8_block(const std::uint8_t* codes, std::int64_t n, float scale, float* sum);

// Word i is philox(key, first + i / 4, high)[i % 4].
void draw(std::uint64_t key, std::uint64_t first, std::uint64_t high, std::int64_t words, std::uint32_t* out);

// One block of QSGD: level = floor(|x| × levels / norm + u), u of Philox(key, index / 4, step); the code holds the sign in
// its highest bit. levels ≤ 127. Returns norm / levels (NaN: not finite).
float to_qsgd_block(const float* x, std::int64_t n, int levels, std::uint64_t key, std::uint64_t first_index,
                    std::uint64_t step, std::uint8_t* codes);
void add_qsgd_block(const std::uint8_t* codes, std::int64_t n, float unit, float* sum);

// Products of a matrix line (one row of M) with thin factors that are kept by columns: factor[c × columns + j]. One line
// at a time, so that it stays in the first-level cache for all r columns.
//   p[c × stride] = line · factor c
void multiply_row(const float* line, const float* factor, std::int64_t columns, std::int64_t r, float* p,
                  std::int64_t stride);
//   sum[c × columns + j] += p[c × stride] × line[j]
void add_to_columns(const float* line, const float* p, std::int64_t stride, std::int64_t columns, std::int64_t r,
                    float* sum);
//   line[j] += sum over c of p[c × stride] × factor[c × columns + j]
void add_row(const float* p, std::int64_t stride, const float* factor, std::int64_t columns, std::int64_t r,
             float* line);

}  // namespace gradsync::kernels
