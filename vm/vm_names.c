/* vm/vm_names.c - names.
 *
 * Names are sorted with a heap sort: in place, and no input makes it quadratic, as a hash table
 * or a quick sort could be made by whoever chose the names.
 */
#include "vm/vm_names.h"

#include <string.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool vm_name_valid(const char *name, size_t len) {
  if (len == 0 || len > VM_MAX_NAME || !is_letter(name[0]))
    return false;
  for (size_t i = 1; i < len; i++)
    if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9'))
      return false;
  return true;
}

/* Lets names[at] sink until no child is greater. */
static void heap_sink(const char **names, size_t at, size_t n) {
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= n)
      return;
    if (child + 1 < n && strcmp(names[child], names[child + 1]) < 0)
      child++;
    if (strcmp(names[at], names[child]) >= 0)
      return;
    const char *swap = names[at];
    names[at] = names[child];
    names[child] = swap;
    at = child;
  }
}

const char *vm_names_repeated(const char **names, size_t n) {
  for (size_t at = n / 2; at-- > 0;)
    heap_sink(names, at, n);
  for (size_t end = n; end > 1; end--) {
    const char *top = names[0];
    names[0] = names[end - 1];
    names[end - 1] = top;
    heap_sink(names, 0, end - 1);
  }
  for (size_t i = 1; i < n; i++)
    if (strcmp(names[i - 1], names[i]) == 0)
      return names[i];
  return NULL;
}
