/* Arguments of a call from the JSON in the request's body: an object with the names of the
 * parameters, or an array in their order. */
#include "serve.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *json_kind(const json_t *j) {
  switch (json_typeof(j)) {
  case JSON_OBJECT:
    return "an object";
  case JSON_ARRAY:
    return "an array";
  case JSON_STRING:
    return "a text";
  case JSON_INTEGER:
    return "an int";
  case JSON_REAL:
    return "a real";
  case JSON_TRUE:
  case JSON_FALSE:
    return "a bool";
  case JSON_NULL:
    break;
  }
  return "null";
}

/* Dates, and reals that JSON has no number for, are spelled as in results. */
static bool read_spelled(const json_t *j, pure_type type, pure_value *out) {
  return json_is_string(j) && (type == PURE_DATE || type == PURE_REAL) &&
         pure_value_parse(type, json_string_value(j), json_string_length(j), out, NULL) == PURE_OK;
}

static bool read_value(const json_t *j, pure_type type, pure_value *out) {
  if (type == PURE_INT && json_is_integer(j))
    *out = pure_int(json_integer_value(j));
  else if (type == PURE_REAL && json_is_number(j))
    *out = pure_real(json_number_value(j));
  else if (type == PURE_BOOL && json_is_boolean(j))
    *out = pure_bool(json_is_true(j));
  else if (type == PURE_TEXT && json_is_string(j))
    *out = pure_text(json_string_value(j), json_string_length(j));
  else
    return read_spelled(j, type, out);
  return true;
}

static bool read_argument(serve_request *r, const json_t *j, uint32_t i) {
  pure_column_info p;
  if (pure_program_parameter(r->s->program, r->function, i, &p) != PURE_OK)
    return serve_refuse(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "internal", "no parameter %u", i);
  if (!j)
    return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_argument", "%s: argument %s is missing",
                        r->name, p.name);
  if (!read_value(j, p.type, &r->arguments[i]))
    return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_argument",
                        "%s: argument %s: expected %s%s, got %s", r->name, p.name,
                        pure_type_name(p.type), p.type == PURE_DATE ? " as \"1998-09-02\"" : "",
                        json_kind(j));
  return true;
}

static bool read_array(serve_request *r, const json_t *array) {
  if (json_array_size(array) != r->narguments)
    return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_argument", "%s takes %u argument%s, not %zu",
                        r->name, r->narguments, r->narguments == 1 ? "" : "s",
                        json_array_size(array));
  for (uint32_t i = 0; i < r->narguments; i++)
    if (!read_argument(r, json_array_get(array, i), i))
      return false;
  return true;
}

static bool known_parameter(const serve_request *r, const char *name) {
  pure_column_info p;
  for (uint32_t i = 0; pure_program_parameter(r->s->program, r->function, i, &p) == PURE_OK; i++)
    if (strcmp(p.name, name) == 0)
      return true;
  return false;
}

static bool read_object(serve_request *r, json_t *object) {
  const char *name;
  json_t *value;
  pure_column_info p;
  json_object_foreach(object, name, value) {
    if (!known_parameter(r, name))
      return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_argument",
                          "%s has no parameter named %.60s", r->name, name);
  }
  for (uint32_t i = 0; pure_program_parameter(r->s->program, r->function, i, &p) == PURE_OK; i++)
    if (!read_argument(r, json_object_get(object, p.name), i))
      return false;
  return true;
}

bool serve_arguments_read(serve_request *r) {
  json_error_t e;
  r->arguments = calloc(r->narguments + 1, sizeof *r->arguments);
  if (!r->arguments)
    return serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no_memory", "not enough memory");
  if (r->body.length == 0)
    return r->narguments == 0 || read_array(r, NULL);
  json_t *json = json_loadb(r->body.bytes, r->body.length, JSON_REJECT_DUPLICATES, &e);
  if (!json)
    return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_json", "the body is not JSON: line %d: %s",
                        e.line, e.text);
  r->json = json;
  serve_buffer_free(&r->body);
  if (json_is_object(json))
    return read_object(r, json);
  if (json_is_array(json))
    return read_array(r, json);
  return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_json",
                      "the body is %s; expected an object or an array of arguments",
                      json_kind(json));
}
