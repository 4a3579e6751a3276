/* host/lib/host_snap_int.h - the form of a snapshot file; docs/snapshot-format.md says it in full.
 *
 *   file     "PURESNAP", version u32, 0 u32, sections
 *   section  payload length u64, payload, XXH3-64 of the payload seeded with its number u64
 *   order    schema; texts, in groups; for each list its rows, in chunks
 *
 * All numbers are little-endian.
 */
#ifndef PURE_HOST_SNAP_INT_H
#define PURE_HOST_SNAP_INT_H

#include "host/lib/host_int.h"

#define SNAP_MAGIC "PURESNAP"
#define SNAP_MAGIC_BYTES 8
#define SNAP_VERSION 1
#define SNAP_START_BYTES 16
#define SNAP_GROUP_BYTES (UINT32_C(1) << 20) /* texts: a new group from here on */

/* Rows a chunk: about 1 MB of cells as they are in memory. */
static inline uint64_t snap_chunk_rows(unsigned ncols) {
  uint64_t rows = (UINT64_C(1) << 17) / ncols;
  return rows < 64 ? 64 : rows;
}

#endif
