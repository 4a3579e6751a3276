/* ir/ir_text_print.c - a region as text; docs/ir.md describes the form.
 *
 * Values and exits are numbered in the order of the text, so that what a pass leaves behind in
 * numbers does not show: printing, parsing and printing again gives the same bytes.
 */
#include "ir/ir_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct {
  ir_region *r;
  ir_write write;
  void *user;
  bool going;
  uint32_t *value; /* number in the text of each node, and of each exit */
  uint32_t *exit;
  uint32_t *exits; /* exits in order of the text */
  uint32_t nvalues, nexits;
  uint32_t pc; /* of the node printed last */
} printer;

__attribute__((format(printf, 2, 3))) static void say(printer *p, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (len < 0)
    return;
  if ((size_t)len >= sizeof text)
    len = sizeof text - 1;
  if (p->going)
    p->going = p->write(p->user, text, (size_t)len);
}

static void meet_exit(printer *p, uint32_t exit) {
  if (exit == IR_NO_EXIT || p->exit[exit])
    return;
  p->exits[p->nexits++] = exit;
  p->exit[exit] = p->nexits;
}

/* Numbers everything in order. */
static void number(printer *p) {
  ir_region *r = p->r;
  for (uint32_t b = 0; b < r->nblocks; b++) {
    if (r->blocks[b].gone)
      continue;
    meet_exit(p, r->blocks[b].landing);
    meet_exit(p, r->blocks[b].poll);
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next) {
      const ir_node *n = ir_at(r, id);
      if (n->type != IR_NONE && !ir_is_const(n))
        p->value[id] = ++p->nvalues;
      meet_exit(p, n->exit);
    }
  }
}

static void say_value(printer *p, ir_id id) {
  const ir_node *n = ir_at(p->r, id);
  if (n->op == IR_OP_INT)
    say(p, "%" PRId64, n->imm);
  else if (n->op == IR_OP_REAL)
    say(p, "f#%016" PRIx64, (uint64_t)n->imm);
  else if (n->op == IR_OP_BOOL)
    say(p, n->imm ? "true" : "false");
  else if (id && p->value[id])
    say(p, "v%" PRIu32, p->value[id]);
  else
    say(p, "v?"); /* broken: a use without its definition */
}

static void say_step(printer *p, const ir_node *n) {
  const ir_step *s = &p->r->steps[n->imm];
  bool killed = false;
  say(p, " pc %" PRIu32 "%s%s", s->pc, s->metered ? " metered" : "", s->calls ? " calls" : "");
  for (unsigned l = 0; l < 256; l++) {
    if (!(s->kills[l / 64] >> (l % 64) & 1))
      continue;
    say(p, killed ? " L%u" : " kills L%u", l);
    killed = true;
  }
  for (unsigned k = 0; k < n->nargs; k++) {
    if (s->metered && k == 0)
      say(p, " work=");
    else
      say(p, " r%u=", s->reg[k - s->metered]);
    say_value(p, n->arg[k]);
  }
}

static void say_attributes(printer *p, const ir_node *n) {
  uint8_t has = ir_facts_of(n)->attributes;
  if (has & IR_HAS_COL)
    say(p, " L%u.%u", n->list, n->col);
  else if (has & IR_HAS_LIST)
    say(p, " L%u", n->list);
  if (has & IR_HAS_WIDTH)
    say(p, " u%u", 8u << n->width);
  if (n->op == IR_OP_GSHAPE)
    say(p, " 0x%" PRIx64, (uint64_t)n->imm);
  else if (n->op == IR_OP_BIF || n->op == IR_OP_BIFX)
    say(p, " %s", vm_builtin_read((vm_builtin)n->imm)->id);
  else if (has & IR_HAS_IMM)
    say(p, " %" PRId64, n->imm);
}

static void say_node(printer *p, ir_id id) {
  const ir_node *n = ir_at(p->r, id);
  const ir_block *b = &p->r->blocks[n->block];
  const ir_facts_of_op *facts = ir_facts_of(n);
  if (ir_is_const(n))
    return;
  if (n->pc != p->pc && n->pc != IR_NO_PC)
    say(p, "  @%" PRIu32 "\n", p->pc = n->pc);
  say(p, "  ");
  if (n->type != IR_NONE) {
    say_value(p, id);
    say(p, " = ");
  }
  say(p, "%s", facts->name);
  if (facts->same)
    say(p, ":%s", ir_type_name((ir_type)n->type));
  if (n->op == IR_OP_STEP) {
    say_step(p, n);
  } else {
    say_attributes(p, n);
    for (unsigned k = 0; k < n->nargs; k++) {
      say(p, " ");
      say_value(p, n->arg[k]);
    }
  }
  for (unsigned s = 0; (facts->effects & IR_ENDS) && s < ir_block_nsucc(p->r, b); s++)
    say(p, " b%" PRIu32, b->succ[s]);
  if (n->exit != IR_NO_EXIT)
    say(p, " exit %" PRIu32, p->exit[n->exit] - 1);
  say(p, "\n");
}

static void say_block(printer *p, uint32_t block) {
  const ir_block *b = &p->r->blocks[block];
  say(p, "b%" PRIu32 ":", block);
  for (uint32_t i = 0; i < b->npreds; i++)
    say(p, " b%" PRIu32, b->preds[i]);
  if (b->cold)
    say(p, " cold");
  if (b->landing != IR_NO_EXIT)
    say(p, " landing %" PRIu32, p->exit[b->landing] - 1);
  if (b->poll != IR_NO_EXIT)
    say(p, " poll %" PRIu32 " every %" PRIu32, p->exit[b->poll] - 1, b->every);
  if (b->pc != IR_NO_PC)
    say(p, " pc %" PRIu32, b->pc);
  say(p, "\n");
  p->pc = b->pc;
  for (ir_id id = b->first; id; id = ir_at(p->r, id)->next)
    say_node(p, id);
}

static void say_exit(printer *p, uint32_t number) {
  const ir_exit *x = &p->r->exits[p->exits[number]];
  say(p, "exit %" PRIu32 ": pc %" PRIu32 " %s", number, x->pc, ir_exit_name((ir_reason)x->reason));
  if (!x->raised) {
    say(p, " work ");
    say_value(p, x->work);
    say(p, "%+" PRId64, x->more);
    for (uint32_t s = 0; s < x->nslots; s++) {
      say(p, " r%" PRIu32 "=", x->slots[s].reg);
      say_value(p, x->slots[s].value);
    }
  }
  say(p, "\n");
}

static void say_list(printer *p, uint32_t number) {
  static const char *const trust[] = {"any", "checked", "guarded"};
  const ir_list *l = &p->r->lists[number];
  say(p, "list %" PRIu32 " %s%s keys %u cols ", number, l->name, l->stored ? " stored" : "",
      l->nkeys);
  for (unsigned c = 0; c < l->ncols; c++)
    say(p, "%s%s", c ? "," : "", vm_type_name((ls_type)l->types[c]));
  say(p, " %s", trust[l->facts.trust]);
  if (l->facts.trust != IR_ANY)
    say(p, " 0x%" PRIx64, l->facts.shape);
  if (l->facts.direct)
    say(p, " direct");
  if (l->facts.rows)
    say(p, " rows %" PRIu64, l->facts.rows);
  say(p, "\n");
}

static void say_region(printer *p) {
  const ir_region *r = p->r;
  say(p, "region %s fn %" PRIu32 " pc %" PRIu32 " regs %" PRIu32, r->name, r->fn, r->pc, r->nregs);
  if (r->l2_bytes)
    say(p, " l2 %" PRIu64, r->l2_bytes);
  if (r->distance)
    say(p, " distance %" PRIu32, r->distance);
  if (r->strip)
    say(p, " strip %" PRIu32, r->strip);
  say(p, "\n");
  for (uint32_t l = 0; l < r->nlists; l++)
    say_list(p, l);
  for (uint32_t b = 0; b < r->nblocks; b++)
    if (!r->blocks[b].gone)
      say_block(p, b);
  for (uint32_t e = 0; e < p->nexits; e++)
    say_exit(p, e);
}

bool ir_print(ir_region *r, ir_write write, void *user) {
  printer p = {.r = r, .write = write, .user = user, .going = true};
  p.value = ir_alloc(r, r->nnodes, sizeof *p.value);
  p.exit = ir_alloc(r, r->nexits, sizeof *p.exit);
  p.exits = ir_alloc(r, r->nexits, sizeof *p.exits);
  if (r->failed)
    return false;
  number(&p);
  say_region(&p);
  return p.going;
}
