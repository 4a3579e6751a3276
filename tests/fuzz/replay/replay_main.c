/* Runs a fuzz target over stored inputs, without libFuzzer.
 *
 *   TARGET DIRECTORY...
 *
 * Every regular file directly in the directories is given to LLVMFuzzerTestOneInput once, in the
 * order of its name, after one empty input. Each input lies in a block of exactly its own size, so
 * that the address sanitizer sees a read past its end. The name is printed before the input runs:
 * the last line of a crashed run names the culprit. Status 0 when all ran, 1 when there was none or
 * one could not be read.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the whole file. Returns a block to free, or NULL. */
static uint8_t *read_file(const char *path, size_t size) {
  uint8_t *data = malloc(size ? size : 1);
  FILE *file = data ? fopen(path, "rb") : NULL;
  size_t got = file ? fread(data, 1, size, file) : 0;
  if (file)
    fclose(file);
  if (file && got == size)
    return data;
  free(data);
  return NULL;
}

/* Returns 1 for an input that ran, 0 for what is no regular file, -1 for a failure. */
static int replay_file(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0)
    return -1;
  if (!S_ISREG(info.st_mode))
    return 0;
  size_t size = (size_t)info.st_size;
  uint8_t *data = read_file(path, size);
  if (!data)
    return -1;
  printf("%s\n", path);
  fflush(stdout);
  LLVMFuzzerTestOneInput(data, size);
  free(data);
  return 1;
}

/* Returns the number of inputs that ran, or -1. */
static long replay_directory(const char *directory) {
  struct dirent **entries;
  int count = scandir(directory, &entries, NULL, alphasort);
  long ran = 0;
  if (count < 0) {
    perror(directory);
    return -1;
  }
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    int result = ran < 0 ? 0 : replay_file(path);
    if (result < 0)
      perror(path);
    ran = result < 0 ? -1 : ran + result;
    free(entries[i]);
  }
  free(entries);
  return ran;
}

int main(int argc, char **argv) {
  uint8_t *nothing = calloc(1, 1);
  long total = 0;
  LLVMFuzzerTestOneInput(nothing, 0);
  free(nothing);
  for (int i = 1; i < argc; i++) {
    long ran = replay_directory(argv[i]);
    if (ran < 0)
      return 1;
    total += ran;
  }
  printf("%ld inputs\n", total);
  return total == 0;
}
