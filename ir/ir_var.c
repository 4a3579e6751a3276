/* ir/ir_var.c - from variables to values while a region is built.
 *
 * On the fly, after Braun and others (CC 2013): a block that does not know a variable asks its
 * predecessors, and joins what they say by a phi.  A loop header is left unsealed until its body
 * has been built; what is asked of it meanwhile are phis without arguments.  Phis that join one
 * value are dropped afterwards (ir_phi.c).
 */
#include "ir/ir_build.h"

#include <string.h>

static uint64_t def_key(uint32_t block, uint32_t var) { return ((uint64_t)block << 32 | var) + 1; }

static uint32_t def_slot(const ir_def *defs, uint32_t cap, uint64_t key) {
  uint32_t at = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (cap - 1);
  while (defs[at].key && defs[at].key != key)
    at = (at + 1) & (cap - 1);
  return at;
}

static bool defs_grow(ir_vars *v) {
  uint32_t cap = v->defs_cap ? v->defs_cap * 2 : 256;
  ir_def *grown = ir_alloc(v->r, cap, sizeof *grown);
  if (grown == NULL)
    return false;
  for (uint32_t i = 0; i < v->defs_cap; i++)
    if (v->defs[i].key)
      grown[def_slot(grown, cap, v->defs[i].key)] = v->defs[i];
  v->defs = grown;
  v->defs_cap = cap;
  return true;
}

static bool is_field(const ir_vars *v, uint32_t var) { return var >= ir_var_field(v, 0, 0); }

static uint32_t kill_of_field(const ir_vars *v, uint32_t var) {
  return ir_var_kill(v, (var - ir_var_field(v, 0, 0)) / IR_NFIELDS);
}

/* NULL: there is none. */
static const ir_def *find_def(const ir_vars *v, uint32_t block, uint32_t var) {
  if (v->defs_cap == 0)
    return NULL;
  const ir_def *d = &v->defs[def_slot(v->defs, v->defs_cap, def_key(block, var))];
  return d->key ? d : NULL;
}

static uint32_t kills_in(const ir_vars *v, uint32_t block, uint32_t var) {
  const ir_def *d = is_field(v, var) ? find_def(v, block, kill_of_field(v, var)) : NULL;
  return d ? d->kills : 0;
}

static void write_def(ir_vars *v, uint32_t block, uint32_t var, ir_id value, uint32_t kills) {
  if (v->ndefs * 2 >= v->defs_cap && !defs_grow(v))
    return;
  uint64_t key = def_key(block, var);
  ir_def *d = &v->defs[def_slot(v->defs, v->defs_cap, key)];
  v->ndefs += d->key == 0;
  *d = (ir_def){key, value, kills};
}

void ir_var_write(ir_vars *v, uint32_t block, uint32_t var, ir_id value) {
  write_def(v, block, var, value, kills_in(v, block, var));
}

/* 0: not known in this block. */
static ir_id lookup(const ir_vars *v, uint32_t block, uint32_t var) {
  const ir_def *d = find_def(v, block, var);
  return d && (!is_field(v, var) || d->kills == kills_in(v, block, var)) ? d->value : 0;
}

void ir_var_kill_list(ir_vars *v, uint32_t block, unsigned list, ir_id place) {
  const ir_def *d = find_def(v, block, ir_var_kill(v, list));
  write_def(v, block, ir_var_kill(v, list), place, d ? d->kills + 1 : 1);
}

void ir_var_load_after(ir_vars *v, uint32_t block, unsigned list, ir_id place) {
  const ir_def *d = find_def(v, block, ir_var_kill(v, list));
  write_def(v, block, ir_var_kill(v, list), place, d ? d->kills : 1);
}

/* ---- header fields */

static ir_id load_field(ir_vars *v, uint32_t block, uint32_t var, ir_id place) {
  static const uint8_t ops[] = {IR_OP_SHAPE,    IR_OP_COUNT,  IR_OP_ROOM,   IR_OP_VERSION,
                                IR_OP_WRITABLE, IR_OP_DIRECT, IR_OP_BASE,   IR_OP_CAP,
                                IR_OP_PRESENT,  IR_OP_DIR,    IR_OP_ORIGIN, IR_OP_BUCKETS};
  uint32_t n = var - ir_var_field(v, 0, 0), field = n % IR_NFIELDS;
  ir_op op = field >= IR_F_OFFSET ? IR_OP_OFFSET
             : field >= IR_F_COL  ? IR_OP_COL
                                  : (ir_op)ops[field];
  ir_id id = ir_node_new(v->r, op, IR_NONE, 0, NULL);
  ir_node *node = ir_at(v->r, id);
  node->list = (uint8_t)(n / IR_NFIELDS);
  node->col = (uint8_t)(field >= IR_F_OFFSET ? field - IR_F_OFFSET
                        : field >= IR_F_COL  ? field - IR_F_COL
                                             : 0);
  node->pc = ir_at(v->r, place)->pc;
  ir_node_put_after(v->r, place, id);
  ir_var_write(v, block, var, id);
  return id;
}

static ir_type field_type(uint32_t field) {
  if (field >= IR_F_OFFSET)
    return IR_I64;
  if (field >= IR_F_COL || field == IR_F_PRESENT || field == IR_F_DIR)
    return IR_PTR;
  return field == IR_F_WRITABLE || field == IR_F_DIRECT ? IR_B1 : IR_I64;
}

/* A register as it was at the entry. */
static ir_id load_reg(ir_vars *v, uint32_t reg) {
  ir_id id = ir_node_new(v->r, IR_OP_REG, v->type_at(v->user, 0, reg), 0, NULL);
  ir_at(v->r, id)->imm = reg;
  ir_node_put_after(v->r, v->anchor, id);
  v->at_entry[reg] = id;
  return id;
}

/* ---- joins */

static ir_type type_of(ir_vars *v, uint32_t block, uint32_t var) {
  if (is_field(v, var))
    return field_type((var - ir_var_field(v, 0, 0)) % IR_NFIELDS);
  return v->type_at(v->user, block, var);
}

/* A register that is not set on every way may hold anything on some of them. */
static ir_id convert(ir_vars *v, uint32_t block, ir_id value, ir_type to) {
  ir_type from = (ir_type)ir_at(v->r, value)->type;
  if (from == to)
    return value;
  ir_op op = from == IR_F64 ? IR_OP_FTOBITS : IR_OP_BTOI;
  if (from == IR_I64)
    op = to == IR_F64 ? IR_OP_BITSTOF : IR_OP_ITOB;
  ir_id id = ir_node_new(v->r, op, IR_NONE, 1, &value), last = v->r->blocks[block].last;
  if (last && ir_has_effect(ir_at(v->r, last), IR_ENDS))
    ir_node_put_before(v->r, last, id);
  else
    ir_node_append(v->r, block, id);
  return from != IR_I64 && to != IR_I64 ? convert(v, block, id, to) : id;
}

static void fill_phi(ir_vars *v, ir_id phi, uint32_t block, uint32_t var) {
  uint32_t n = v->r->blocks[block].npreds;
  ir_id *arg = ir_alloc(v->r, n, sizeof *arg);
  if (arg == NULL)
    return;
  for (uint32_t p = 0; p < n; p++) {
    uint32_t pred = v->r->blocks[block].preds[p];
    arg[p] = convert(v, pred, ir_var_read(v, pred, var), (ir_type)ir_at(v->r, phi)->type);
  }
  ir_at(v->r, phi)->arg = arg;
  ir_at(v->r, phi)->nargs = (uint16_t)n;
}

static ir_id phi_new(ir_vars *v, uint32_t block, ir_type type) {
  ir_id id = ir_node_new(v->r, IR_OP_PHI, type, 0, NULL);
  ir_at(v->r, id)->pc = v->r->blocks[block].pc;
  ir_node_prepend(v->r, block, id);
  return id;
}

static bool is_unsealed(const ir_vars *v, uint32_t block) {
  return block < v->unsealed_cap && v->unsealed[block] == 1;
}

/* Once sealed, a header still may ask itself through its body. */
static bool is_header(const ir_vars *v, uint32_t block) {
  return block < v->unsealed_cap && v->unsealed[block] != 0;
}

static ir_id open_phi(ir_vars *v, uint32_t block, uint32_t var) {
  if (v->nopen == v->open_cap) {
    uint32_t cap = v->open_cap * 2 + 64;
    ir_open_phi *grown = ir_alloc(v->r, cap, sizeof *grown);
    if (grown == NULL)
      return 0;
    if (v->nopen)
      memcpy(grown, v->open, v->nopen * sizeof *grown);
    v->open = grown;
    v->open_cap = cap;
  }
  ir_id phi = phi_new(v, block, type_of(v, block, var));
  v->open[v->nopen++] = (ir_open_phi){phi, block, var};
  return phi;
}

/* All predecessors are there, and none of them comes from the block itself. */
static ir_id join(ir_vars *v, uint32_t block, uint32_t var) {
  const ir_block *b = &v->r->blocks[block];
  uint32_t n = b->npreds;
  ir_id first = ir_var_read(v, b->preds[0], var);
  bool same = true;
  for (uint32_t p = 1; p < n && same; p++)
    same = ir_var_read(v, v->r->blocks[block].preds[p], var) == first;
  if (same)
    return first;
  ir_id phi = phi_new(v, block, (ir_type)ir_at(v->r, first)->type);
  fill_phi(v, phi, block, var);
  return phi;
}

ir_id ir_var_read(ir_vars *v, uint32_t block, uint32_t var) {
  uint32_t at = block;
  ir_id value;
  if (v->r->failed)
    return 0;
  for (;; at = v->r->blocks[at].preds[0]) { /* up a straight line */
    value = lookup(v, at, var);
    if (value)
      break;
    if (is_field(v, var)) {
      ir_id place = lookup(v, at, kill_of_field(v, var));
      if (place)
        value = load_field(v, at, var, place);
    }
    if (value || is_header(v, at) || v->r->blocks[at].npreds != 1)
      break;
  }
  if (value == 0 && at == 0 && var < v->nregs)
    value = load_reg(v, var);
  else if (value == 0 && is_unsealed(v, at))
    value = open_phi(v, at, var);
  else if (value == 0 && is_header(v, at)) {
    value = phi_new(v, at, type_of(v, at, var));
    ir_var_write(v, at, var, value);
    fill_phi(v, value, at, var);
  } else if (value == 0 && v->r->blocks[at].npreds)
    value = join(v, at, var);
  ir_var_write(v, at, var, value);
  ir_var_write(v, block, var, value);
  return value;
}

void ir_var_unseal(ir_vars *v, uint32_t block) {
  if (block >= v->unsealed_cap) {
    uint32_t cap = block * 2 + 64;
    uint8_t *grown = ir_alloc(v->r, cap, 1);
    if (grown == NULL)
      return;
    if (v->unsealed_cap)
      memcpy(grown, v->unsealed, v->unsealed_cap);
    v->unsealed = grown;
    v->unsealed_cap = cap;
  }
  v->unsealed[block] = 1;
}

void ir_var_seal_all(ir_vars *v) {
  for (uint32_t b = 0; b < v->unsealed_cap; b++)
    if (v->unsealed[b])
      v->unsealed[b] = 2;
  for (uint32_t i = 0; i < v->nopen && !v->r->failed; i++)
    fill_phi(v, v->open[i].phi, v->open[i].block, v->open[i].var);
}
