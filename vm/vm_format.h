/* vm/vm_format.h - the bytes of a saved module.  docs/bytecode.md describes them for others.
 *
 *   magic, format version, cost version, number of sections, length of the whole file
 *   sections, each once and in this order: tag, length, payload
 *   XXH3 (64 bits) of everything before it
 *
 * Numbers are little endian and lie where they fall, without padding.
 */
#ifndef PURE_VM_FORMAT_H
#define PURE_VM_FORMAT_H

#include <stdint.h>

#define VM_FORMAT_MAGIC "\x89PURE\r\n\x1a" /* 8 bytes; shows what damages line ends or bit 7 */
#define VM_FORMAT_VERSION 1u
#define VM_FORMAT_HEAD 24u
#define VM_FORMAT_TAIL 8u

typedef enum {
  VM_SECTION_NAME,
  VM_SECTION_CONST,
  VM_SECTION_LIST,
  VM_SECTION_EXTERN,
  VM_SECTION_FUNCTION,
  VM_SECTION_LINE,
  VM_NSECTIONS
} vm_section;
#define VM_SECTION_TAGS                                                                            \
  { "NAME", "CONS", "LIST", "EXTN", "FUNC", "LINE" }

/* Zigzag: small numbers of either sign to small unsigned ones. */
static inline uint64_t vm_format_fold(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline int64_t vm_format_unfold(uint64_t u) { return (int64_t)(u >> 1) ^ -(int64_t)(u & 1); }

#endif
