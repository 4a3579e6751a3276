/* A library of host functions: pure-run geo.pure --extern geo.so near 52.5 13.4 */
#include <math.h>
#include <pure/pure.h>

static double radians(double degrees) { return degrees * 0.017453292519943295; }

/* Kilometres between two places on a globe. */
static double distance(pure_call *call, double lat1, double lon1, double lat2, double lon2) {
  if (fabs(lat1) > 90 || fabs(lat2) > 90)
    pure_call_fault(call, "a latitude lies between -90 and 90");
  double a = sin(radians(lat2 - lat1) / 2), b = sin(radians(lon2 - lon1) / 2);
  double h = a * a + cos(radians(lat1)) * cos(radians(lat2)) * b * b;
  return 2 * 6371 * asin(sqrt(h));
}

PURE_API const pure_binding *pure_bindings(size_t *n);

const pure_binding *pure_bindings(size_t *n) {
  static const pure_binding all[] = {
      {"pure extern fn distance(real, real, real, real): real", (pure_function)distance, NULL},
  };
  *n = sizeof all / sizeof *all;
  return all;
}
