/* vm/vm_asm_int.h - what the files of the assembler share.  docs/bytecode.md has the grammar.
 *
 *   vm_asm_lex.c    text to tokens
 *   vm_asm_names.c  one hash table of all names
 *   vm_asm_decl.c   lists, constants, host functions, headers of functions
 *   vm_asm_body.c   instructions
 *   vm_asm.c        the two passes: declarations first, then bodies, which may name anything
 */
#ifndef PURE_VM_ASM_INT_H
#define PURE_VM_ASM_INT_H

#include "vm/vm_names.h"
#include "vm/vm_tables.h"

typedef enum {
  VM_TOK_END,
  VM_TOK_NAME,   /* letters, digits, _ */
  VM_TOK_NUMBER, /* begins with a digit or - */
  VM_TOK_STRING, /* the bytes between the quotes, escapes unread */
  VM_TOK_PUNCT   /* one byte */
} vm_token_kind;

typedef struct {
  vm_token_kind kind;
  const char *bytes;
  size_t len;
  uint32_t line;
  const char *line_start;
} vm_token;

/* A growing array from ls_mem. */
typedef struct {
  void *data;
  size_t count, cap, size;
} vm_vec;

typedef struct vm_name_slot {
  const char *name; /* NULL: free */
  size_t len;
  uint64_t space;
  uint32_t value;
} vm_name_slot;

/* Where a name is looked up; labels and lists of a function add its number << 8. */
enum {
  VM_SPACE_CONST,
  VM_SPACE_LIST,
  VM_SPACE_EXTERN,
  VM_SPACE_FN,
  VM_SPACE_LABEL,
  VM_SPACE_FN_LIST
};
#define VM_NAME_NONE UINT32_MAX
#define VM_NAME_MANY (UINT32_MAX - 1)

typedef struct {
  ls_mem *mem;
  vm_module *m;
  vm_error *err;
  ls_status status;
  const char *text, *end;
  const char *at; /* after tok */
  uint32_t line;  /* of `at` */
  const char *line_start;
  vm_token tok; /* the next token to be taken */
  vm_name_slot *slots;
  size_t nslots, nnames;
  vm_vec consts, lists, externs, fns;
  vm_vec bodies; /* vm_body: a function */
  vm_vec lines;  /* uint32_t: an instruction, all functions */
  uint32_t fn;   /* the function at hand */
} vm_asm_state;

/* Where a function's instructions are in the text, and its lines in `lines`. */
typedef struct {
  vm_token start;
  const char *at;
  size_t first_line;
} vm_body;

/* Tokens.  Everything returns false after an error, which is in the state. */
bool vm_asm_fail(vm_asm_state *s, const vm_token *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool vm_asm_memory(vm_asm_state *s);
bool vm_asm_next(vm_asm_state *s); /* reads the next token into s->tok */
bool vm_asm_is(const vm_asm_state *s, const char *word_or_punct);
bool vm_asm_take(vm_asm_state *s, const char *word_or_punct); /* if it is there */
bool vm_asm_need(vm_asm_state *s, const char *word_or_punct);
bool vm_asm_need_name(vm_asm_state *s, vm_token *name);
bool vm_asm_need_int(vm_asm_state *s, int64_t low, int64_t high, int64_t *out);
bool vm_asm_need_type(vm_asm_state *s, ls_type *type);
/* A string with its escapes read, into the module's arena. */
bool vm_asm_need_string(vm_asm_state *s, const char **bytes, size_t *len);
/* A name as a 0-terminated text of the module. */
const char *vm_asm_copy_name(vm_asm_state *s, const vm_token *name);
bool vm_token_is(const vm_token *t, const char *text);
/* For messages: at most 40 bytes of the token. */
#define VM_TOKEN_SHOWN(t) (int)((t).len > 40 ? 40 : (t).len), (t).bytes

void *vm_vec_add(vm_asm_state *s, vm_vec *v); /* a zeroed element; NULL: no memory */
void vm_vec_free(vm_asm_state *s, vm_vec *v);

/* Adds a name; a second time: value VM_NAME_MANY if `many`, else an error. */
bool vm_asm_define(vm_asm_state *s, uint64_t space, const vm_token *name, uint32_t value,
                   bool many);
uint32_t vm_asm_find(const vm_asm_state *s, uint64_t space, const char *name, size_t len);
/* NAME or NAME#number; what: "list" and so on. */
bool vm_asm_need_defined(vm_asm_state *s, uint64_t space, const char *what, uint32_t *value);

bool vm_asm_decls(vm_asm_state *s); /* the first pass */
bool vm_asm_body(vm_asm_state *s);  /* of function s->fn */

#endif
