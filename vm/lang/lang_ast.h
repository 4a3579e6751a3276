/* vm/lang/lang_ast.h - the syntax tree and what names stand for.
 *
 * The parser builds the tree; the checker fills in the fields marked "checked"; the emitter reads
 * them.  Everything lives in the compilation's arena.
 *
 * A name has at most one meaning at a time, since nothing may be shadowed: it is kept in the
 * interned name itself.
 */
#ifndef PURE_VM_LANG_AST_H
#define PURE_VM_LANG_AST_H

#include "vm/vm_module.h"

/* Types of values are ls_type; these are what else an expression can be. */
enum { LANG_NONE = LS_NTYPES, LANG_BAD };

typedef struct {
  uint32_t line, column, width; /* as in lang_error */
} lang_span;

typedef struct lang_name lang_name;
typedef struct lang_sym lang_sym;
typedef struct lang_list lang_list;
typedef struct lang_fn lang_fn;
typedef struct lang_expr lang_expr;
typedef struct lang_stmt lang_stmt;
typedef struct lang_block lang_block;

/* Equal spellings are one lang_name. */
struct lang_name {
  lang_name *chain;
  lang_sym *sym; /* what it stands for just now, or NULL */
  uint32_t hash, len;
  const char *text; /* 0-terminated */
};

typedef enum {
  SYM_LIST,
  SYM_FN,
  SYM_EXTERN,
  SYM_LET, /* let, parameter, for over numbers */
  SYM_VAR,
  SYM_ROW,
  SYM_BAD /* declared wrongly, or not at all: complained of once */
} lang_sym_kind;

struct lang_sym {
  uint8_t kind;
  uint8_t type;
  bool konst; /* let of a constant */
  bool steps; /* the variable of a `for` over numbers */
  lang_name *name;
  lang_span at;
  lang_sym *outer;  /* declared before it in the function */
  lang_sym *hidden; /* what the name stood for before */
  lang_list *list;  /* SYM_LIST; SYM_ROW: the list it is a row of */
  lang_fn *fn;      /* SYM_FN, SYM_EXTERN */
  ls_val value;     /* konst, except text */
  const char *text;
  uint32_t text_len;
  uint16_t reg;         /* emitter */
  struct lang_row *row; /* emitter */
};

typedef struct lang_column lang_column;
struct lang_column {
  lang_column *next;
  lang_name *name;
  lang_span at;
  uint8_t type;
  uint16_t place; /* in the schema; checked */
};

typedef struct lang_key lang_key; /* of `key (..)` and `sort .. by` */
struct lang_key {
  lang_key *next;
  lang_name *name;
  lang_span at;
  bool descending;
  uint16_t place; /* in the schema; checked */
};

struct lang_list {
  lang_list *next;
  lang_name *name;
  lang_span at;
  bool stored;
  bool used; /* local: has a definition in the module */
  uint16_t ncols, nkeys;
  lang_column *cols; /* as declared */
  lang_key *keys;
  uint16_t *places;       /* checked: declared position -> place in the schema */
  lang_column **schema;   /* checked: place -> column */
  uint32_t number;        /* stored: among the stored; else in the module, once used */
  const lang_fn *slot_fn; /* emitter: the function that `slot` is of */
  uint16_t slot;
};

/* A parameter, or a column of a result. */
typedef struct lang_param lang_param;
struct lang_param {
  lang_param *next;
  lang_name *name;
  lang_span at;
  uint8_t type;
};

typedef struct lang_call lang_call; /* who calls whom */
struct lang_call {
  lang_call *next;        /* of the same caller */
  lang_call *next_caller; /* of the same callee */
  lang_fn *caller, *callee;
  lang_span at;
};

struct lang_block {
  lang_stmt *first;
  lang_span end; /* the closing brace */
};

struct lang_fn {
  lang_fn *next;
  lang_name *name;
  lang_span at;
  bool is_extern, pure;
  uint8_t kind;   /* vm_fn_kind */
  uint8_t result; /* vm_result_kind */
  uint8_t result_type;
  uint16_t nparams, nresult;
  lang_param *params;
  lang_param *result_cols;
  lang_block body;
  uint32_t number; /* in the module: among functions or among externs */
  /* checked */
  lang_sym **param_syms;
  lang_call *calls, *callers;
  uint64_t *writes;   /* a bit for each stored list it may change, itself or through calls */
  lang_span write_at; /* the first statement of its own that changes a stored list */
  lang_list *write_list;
  lang_fn *impure; /* an impure extern that it reaches, or NULL */
  bool queued;
  lang_span emit_at, return_at, bare_at; /* first `emit`, `return L`, `return`; line 0: none */
};

typedef enum {
  EXPR_CONST,
  EXPR_NAME,
  EXPR_FIELD,  /* left . name */
  EXPR_INDEX,  /* left [ args ] */
  EXPR_CALL,   /* name ( args ) */
  EXPR_COUNT,  /* count(left) */
  EXPR_FIRST,  /* first(left) */
  EXPR_LAST,   /* last(left) */
  EXPR_NOT,    /* left */
  EXPR_NEG,    /* left */
  EXPR_BINARY, /* left op right */
  EXPR_AND,
  EXPR_OR,
  EXPR_IN,    /* left in right; negated: not in */
  EXPR_IF,    /* if third then left else right */
  EXPR_TUPLE, /* ( args ) */
  EXPR_RANGE  /* left .. right, each may be NULL */
} lang_expr_kind;

typedef enum {
  BIN_ADD,
  BIN_SUB,
  BIN_MUL,
  BIN_DIV,
  BIN_MOD,
  BIN_EQ,
  BIN_NE,
  BIN_LT,
  BIN_LE,
  BIN_GT,
  BIN_GE
} lang_binary;

struct lang_expr {
  uint8_t kind;
  uint8_t op;      /* lang_binary */
  uint8_t type;    /* ls_type, LANG_NONE or LANG_BAD; checked, except of constants */
  bool konst;      /* has a value known now (value, text); checked, except of constants */
  bool paren;      /* was written in parentheses */
  bool negated;    /* EXPR_IN */
  bool huge;       /* the int literal 2^63, which must be negated */
  uint8_t bif;     /* EXPR_CALL: vm_builtin + 1, or 0; checked */
  uint16_t height; /* of the tree */
  uint16_t nargs;
  uint16_t column; /* EXPR_FIELD: place in the schema; checked */
  lang_span at;    /* all of it, where it lies on one line */
  vm_pos op_at;    /* where a fault of its own is reported */
  lang_expr *next; /* in a list of arguments */
  lang_expr *left, *right, *third;
  lang_expr *args;
  lang_name *name;
  lang_span name_at; /* EXPR_FIELD */
  lang_sym *sym;     /* EXPR_NAME, EXPR_CALL; checked */
  lang_list *list;   /* EXPR_INDEX, EXPR_FIELD, EXPR_COUNT, ..: the list read; checked */
  ls_val value;
  const char *text;
  uint32_t text_len;
};

typedef enum {
  STMT_LET,    /* name = expr [else block] */
  STMT_VAR,    /* name = expr */
  STMT_ASSIGN, /* target op= expr */
  STMT_LOCAL,  /* list */
  STMT_PUT,    /* put list (args) */
  STMT_ADD,    /* add list (args) */
  STMT_DELETE, /* delete target */
  STMT_CLEAR,  /* clear list */
  STMT_SORT,   /* sort list by keys */
  STMT_IF,     /* arms, else block */
  STMT_WHILE,  /* while expr block */
  STMT_FOR,    /* for name in expr block */
  STMT_BREAK,
  STMT_CONTINUE,
  STMT_RETURN, /* [expr] */
  STMT_EMIT,   /* (args) */
  STMT_FAULT,  /* expr */
  STMT_CALL    /* expr */
} lang_stmt_kind;

typedef enum { SET_PLAIN, SET_ADD, SET_SUB, SET_MUL } lang_set;

typedef struct lang_arm lang_arm; /* if c { } or if let name = c { } */
struct lang_arm {
  lang_arm *next;
  lang_name *let; /* or NULL */
  lang_span let_at;
  lang_sym *sym; /* checked */
  lang_expr *cond;
  lang_block block;
};

struct lang_stmt {
  uint8_t kind;
  uint8_t set;   /* STMT_ASSIGN: lang_set */
  bool has_else; /* STMT_LET, STMT_IF */
  bool ensure;   /* STMT_LET: expr is L[k] or (v, ..); checked */
  bool leaves;   /* no way past it; checked */
  uint16_t nargs;
  lang_stmt *next;
  lang_span at;
  lang_name *name;
  lang_span name_at;
  lang_expr *target;
  lang_expr *expr;
  lang_expr *args;
  lang_list *list; /* STMT_LOCAL; STMT_PUT and such: checked */
  lang_sym *sym;   /* STMT_LET, STMT_VAR, STMT_FOR: what it declares; checked */
  lang_key *keys;
  lang_arm *arms;
  lang_block block; /* of while and for; of else */
};

#endif
