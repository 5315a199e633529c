/* The part of Node-API that the addon uses: its functions keep their form in every version of Node
 * (nodejs.org/api/n-api.html), so no headers of one version are needed to build it. */
#ifndef SNAPCELL_FORK_NODE_NAPI_H
#define SNAPCELL_FORK_NODE_NAPI_H

#include <stddef.h>
#include <stdint.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef struct napi_ref__ *napi_ref;
typedef struct napi_handle_scope__ *napi_handle_scope;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);
struct uv_loop_s;

/* All return 0 when nothing failed. */
int napi_create_function(napi_env env, const char *name, size_t len, napi_callback call, void *data,
                         napi_value *ret);
int napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);
int napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv,
                     napi_value *ret_this, void **ret_data);
int napi_get_value_int32(napi_env env, napi_value value, int32_t *ret);
int napi_get_value_string_utf8(napi_env env, napi_value value, char *buf, size_t size, size_t *ret_len);
int napi_create_int32(napi_env env, int32_t value, napi_value *ret);
int napi_create_string_utf8(napi_env env, const char *text, size_t len, napi_value *ret);
int napi_get_uv_event_loop(napi_env env, struct uv_loop_s **ret);
int napi_create_reference(napi_env env, napi_value value, uint32_t count, napi_ref *ret);
int napi_get_reference_value(napi_env env, napi_ref reference, napi_value *ret);
int napi_open_handle_scope(napi_env env, napi_handle_scope *ret);
int napi_close_handle_scope(napi_env env, napi_handle_scope scope);
int napi_get_global(napi_env env, napi_value *ret);
int napi_get_boolean(napi_env env, _Bool value, napi_value *ret);
int napi_call_function(napi_env env, napi_value receiver, napi_value function, size_t argc,
                       const napi_value *argv, napi_value *ret);
int napi_get_and_clear_last_exception(napi_env env, napi_value *ret);
int napi_throw_error(napi_env env, const char *code, const char *message);

/* Of the addon: what Node calls when it loads it. */
napi_value napi_register_module_v1(napi_env env, napi_value exports);

#endif
