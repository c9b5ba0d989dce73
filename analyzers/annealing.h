// How dense a selection should be over the course of a training, in percent: the schedule that is often quoted, and one
// that ends where it says. Pure.
#pragma once

namespace gradsync {

// k0 (1 - t/T)^2: quadratic, though called linear, and 0 at the end, whatever end was meant. `progress` is t/T, 0 … 1.
double quoted_density(double start_percent, double progress);

// k_end + (k0 - k_end)(1 - t/T)^power: `start` at 0 and `end` at 1; a straight line with power 1.
double annealed_density(double start_percent, double end_percent, double progress, double power);

}  // namespace gradsync
