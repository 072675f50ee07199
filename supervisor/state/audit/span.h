/* Runs: CLI. Regions as spans of OpenTelemetry: OTLP's JSON form (opentelemetry-proto 1.x, ExportTraceServiceRequest), one region a line, as the
 * collector's otlpjsonfile receiver reads it. */
#pragma once

#include "audit/history.h"

/* The spans of h->regions[i]: "region", and below it "run" and "teardown". Those of a region that its caller traced are in the caller's trace; any other has
 * the trace and span ids that its region's id, and that of the first one above it, make: the same each time. New reference, NULL when out of memory or
 * when the region has not ended. */
json_t *span_of_region(const History *h, size_t i);
