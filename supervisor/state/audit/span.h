/* Runs: CLI. Regions as spans of OpenTelemetry: OTLP's JSON form (opentelemetry-proto 1.x, ExportTraceServiceRequest),
 * one region a line, for the collector's otlpjsonfile receiver. */
#pragma once

#include "audit/history.h"

/* The spans of h->regions[i]: "region", with "run" and "teardown" below. A region of a traced caller belongs to the
 * caller's trace. Any other region has trace and span ids made from its id and the id of the uppermost region above:
 * the same each time. New reference; NULL when out of memory or before the region's end. */
json_t *span_of_region(const History *h, size_t i);
