/* vm/vm_sem.c - builtins on values other than texts, by number: for constant folding, `step` and
 * every tier that has no faster way. */
#include "vm/vm_sem.h"

bool vm_sem_builtin_scalar(vm_builtin f) {
  static const char *const signature[] = {
#define BUILTIN(id, name, result, args, cost, effects, meaning) result args,
#include "vm/vm_builtins.def"
#undef BUILTIN
  };
  return strchr(signature[f], 'T') == NULL;
}

static ls_val builtin_real(vm_builtin f, const ls_val *args) {
  double x = args[0].r;
  ls_val out;
  switch ((int)f) {
  case VM_BIF_ABS_R:
    out.r = vm_sem_rabs(x);
    break;
  case VM_BIF_MIN_R:
    out.r = vm_sem_rmin(x, args[1].r);
    break;
  case VM_BIF_MAX_R:
    out.r = vm_sem_rmax(x, args[1].r);
    break;
  case VM_BIF_SQRT:
    out.r = vm_sem_sqrt(x);
    break;
  case VM_BIF_FLOOR:
    out.r = vm_sem_floor(x);
    break;
  case VM_BIF_CEIL:
    out.r = vm_sem_ceil(x);
    break;
  case VM_BIF_ROUND:
    out.r = vm_sem_round(x);
    break;
  default:
    out.r = vm_sem_trunc(x);
  }
  return out;
}

static int64_t builtin_civil(vm_builtin f, int64_t date) {
  int64_t y, m, d;
  vm_sem_civil(date, &y, &m, &d);
  return f == VM_BIF_YEAR ? y : f == VM_BIF_MONTH ? m : d;
}

int vm_sem_builtin(vm_builtin f, const ls_val *args, ls_val *out) {
  int64_t x = args[0].i;
  switch ((int)f) {
  case VM_BIF_ABS_I:
    return vm_sem_iabs(x, &out->i);
  case VM_BIF_MIN_I:
  case VM_BIF_MIN_D:
    out->i = x < args[1].i ? x : args[1].i;
    return VM_FINE;
  case VM_BIF_MAX_I:
  case VM_BIF_MAX_D:
    out->i = x > args[1].i ? x : args[1].i;
    return VM_FINE;
  case VM_BIF_REAL_I:
    out->r = vm_sem_real_int(x);
    return VM_FINE;
  case VM_BIF_INT_R:
    return vm_sem_int_real(args[0].r, &out->i);
  case VM_BIF_INT_B:
    out->i = x;
    return VM_FINE;
  case VM_BIF_DATE_YMD:
    return vm_sem_date_ymd(x, args[1].i, args[2].i, &out->i);
  case VM_BIF_YEAR:
  case VM_BIF_MONTH:
  case VM_BIF_DAY:
    out->i = builtin_civil(f, x);
    return VM_FINE;
  case VM_BIF_WEEKDAY:
    out->i = vm_sem_weekday(x);
    return VM_FINE;
  default:
    *out = builtin_real(f, args);
    return VM_FINE;
  }
}
