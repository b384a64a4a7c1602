/* measure.h: the ping-pong itself.
 *
 * Rank 0 sends a layout to rank 1 and receives as much back; the time is rank 0's, for the whole
 * round trip, as in RT-0306.  All modes take turns, round by round.  Filling the buffers and
 * verifying what arrived (every round, on both ranks) lies outside the time.
 */
#ifndef PINGPONG_MEASURE_H
#define PINGPONG_MEASURE_H

#include "layout.h"
#include "mode.h"

typedef struct Timing {
  double min_us, median_us; /* of one round trip; meaningful on rank 0 */
} Timing;

/* Fills timings[0 .. modes->count).  Bytes that differ from what was sent end the whole run. */
void measure(const char* name, const Layout* layout, const Modes* modes, int iterations,
             Timing* timings);

/* 100 * (off - on) / off: RT-0306's optimisation gain in per cent. */
double gain(double off_us, double on_us);

#endif
